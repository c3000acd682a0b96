// A tear that shows on the standard error alone: the program catches the exception, prints its stack trace and goes on.
//
// Meant to be atomic: StandardErrorOnly.greet. The name is forgotten between the check and its use.
//
// expect: violation StandardErrorOnly.greet
// whole:  done
// stderr: java.lang.NullPointerException
public class StandardErrorOnly {
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
            e.printStackTrace();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var guest = new StandardErrorOnly();
        var greeter = new Thread(guest::tryToGreet, "greeter");
        var other = new Thread(guest::forget, "other");
        greeter.start();
        other.start();
        greeter.join();
        other.join();
        System.out.println("done");
    }
}
