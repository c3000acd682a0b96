// A tear that shows in a log alone: a logger writes the stack trace of an exception that is caught.
//
// Meant to be atomic: LoggedTrace.greet. The name is forgotten between the check and its use.
//
// expect: violation LoggedTrace.greet
// whole:  done
// stderr: SEVERE: no greeting
import java.util.logging.Level;
import java.util.logging.Logger;

public class LoggedTrace {
    private static final Logger LOG = Logger.getLogger("greetings");

    private volatile String name = "Ada";
    private volatile int length;

    private void greet() {
        if (name != null) {
            length = name.length();
        }
    }

    private void forget() {
        name = null;
    }

    private void tryToGreet() {
        try {
            greet();
        } catch (NullPointerException e) {
            LOG.log(Level.SEVERE, "no greeting", e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var guest = new LoggedTrace();
        var greeter = new Thread(guest::tryToGreet, "greeter");
        var other = new Thread(guest::forget, "other");
        greeter.start();
        other.start();
        greeter.join();
        other.join();
        System.out.println("done");
    }
}
