// A shelf that is filled and emptied under a lock, and whose size anybody may look at without it.
//
// Meant to be atomic: Shelf.move, as far as `things` is concerned. `count` is volatile so that others can
// see it at any time; that it is one too few for a moment while a thing changes its place is known and does no
// harm. Segments of Guava's cache count their entries in this way, Caffeine keeps the state of its buffers so.
//
// The argument is the number of rounds of each thread, 10 by default.
//
// expect: serializable
public class OpenCount {
    public static void main(String[] args) throws InterruptedException {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 10;
        var shelf = new Shelf();
        var mover = new Thread(() -> shelf.run(rounds), "mover");
        var swapper = new Thread(() -> shelf.run(rounds), "swapper");
        var watcher = new Thread(() -> shelf.watch(rounds), "watcher");
        mover.start();
        swapper.start();
        watcher.start();
        mover.join();
        swapper.join();
        watcher.join();
        System.out.println("count " + shelf.count());
    }
}

class Shelf {
    private final int[] things = new int[4];
    private volatile int count = 4;
    private int seen;

    void run(int rounds) {
        for (int i = 0; i < rounds; i++) {
            move(i % 4);
        }
    }

    private synchronized void move(int place) {
        count = count - 1;
        things[place]++;
        count = count + 1;
    }

    void watch(int rounds) {
        for (int i = 0; i < rounds; i++) {
            seen = Math.max(seen, count);
        }
    }

    int count() {
        return count;
    }
}
