// The connection of Reopened, read once.
//
// Meant to be atomic: ReopenedFixed.send, which checks and uses one and the same value, whoever closes the connection
// or opens it again.
//
// Argument: the number of threads that open the connection again (1).
//
// expect: serializable
public class ReopenedFixed {
    private static final class Connection {
        private final StringBuilder text = new StringBuilder();

        void write(String more) {
            text.append(more);
        }
    }

    private volatile Connection connection = new Connection();
    private volatile boolean isBroken;

    private void send(String text) {
        var own = connection;
        if (own != null) {
            own.write(text);
        }
    }

    private void close() {
        connection = null;
    }

    private void open() {
        connection = new Connection();
    }

    private void trySending() {
        try {
            send("hello");
        } catch (NullPointerException e) {
            isBroken = true;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var n = args.length == 0 ? 1 : Integer.parseInt(args[0]);
        var line = new ReopenedFixed();
        var all = new Thread[n + 2];
        for (int i = 0; i < n; i++) {
            all[i] = new Thread(line::open, "opener-" + i);
        }
        all[n] = new Thread(line::trySending, "sender");
        all[n + 1] = new Thread(line::close, "closer");
        for (var thread : all) {
            thread.start();
        }
        for (var thread : all) {
            thread.join();
        }
        System.out.println(line.isBroken ? "sent into nothing" : "sent or not");
    }
}
