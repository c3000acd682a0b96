// ICFinder's Listing 6: `destroy` runs only in one mode, `close` always. As written, complementation
// does not see that they belong together; written the way the paper proposes, it does.
//
// expect: no-comp Collector.asWritten Store.close Store.destroy
// expect: comp Collector.asProposed Store.close Store.destroy
class Store {
    private boolean closed;
    private boolean destroyed;

    synchronized void close() {
        closed = true;
    }

    synchronized void destroy() {
        destroyed = true;
    }

    synchronized boolean isGone() {
        return closed && destroyed;
    }
}

class Collector {
    static final int GC_SYNCHRONOUS = 1;

    private final Store store = new Store();
    private final int mode;

    Collector(int mode) {
        this.mode = mode;
    }

    void asWritten() {
        store.close();
        if (mode == GC_SYNCHRONOUS) {
            store.destroy();
        }
    }

    void asProposed() {
        if (mode == GC_SYNCHRONOUS) {
            store.close();
            store.destroy();
        } else {
            store.close();
        }
    }

    boolean isGone() {
        return store.isGone();
    }
}

public class CloseDestroy {
    public static void main(String[] args) {
        Collector collector = new Collector(Collector.GC_SYNCHRONOUS);
        new Thread(collector::asWritten).start();
        collector.asProposed();
        System.out.println(collector.isGone());
    }
}
