// A connection is closed between a check and its use, and bystanders who open it again hide that.
//
// Meant to be atomic: Reopened.send. It asks whether there is a connection, and then uses it. Another thread closes the
// connection in between. That shows only if none of the n threads that open it again has come meanwhile:
//
//   sender  Reopened.java:28  there is a connection
//   closer  Reopened.java:35  sets it to null
//   sender  Reopened.java:31  uses null
//
// Argument: the number of threads that open the connection again (1).
//
// expect: violation Reopened.send
// whole:  sent or not
// torn:   sent into nothing
public class Reopened {
    private static final class Connection {
        private final StringBuilder text = new StringBuilder();

        void write(String more) {
            text.append(more);
        }
    }

    private volatile Connection connection = new Connection();
    private volatile boolean isBroken;

    private void send(String text) {
        if (connection == null) {
            return;
        }
        connection.write(text);
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
        var line = new Reopened();
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
