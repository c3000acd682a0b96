// The guest of LoggedTrace, whose name is read once.
//
// Meant to be atomic: LoggedTraceFixed.greet, which checks and uses one and the same value.
//
// expect: serializable
import java.util.logging.Level;
import java.util.logging.Logger;

public class LoggedTraceFixed {
    private static final Logger LOG = Logger.getLogger("greetings");

    private volatile String name = "Ada";
    private volatile int length;

    private void greet() {
        var own = name;
        if (own != null) {
            length = own.length();
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
        var guest = new LoggedTraceFixed();
        var greeter = new Thread(guest::tryToGreet, "greeter");
        var other = new Thread(guest::forget, "other");
        greeter.start();
        other.start();
        greeter.join();
        other.join();
        System.out.println("done");
    }
}
