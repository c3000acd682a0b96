// The guest of StandardErrorOnly, whose name is read once.
//
// Meant to be atomic: StandardErrorOnlyFixed.greet, which checks and uses one and the same value.
//
// expect: serializable
public class StandardErrorOnlyFixed {
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
            e.printStackTrace();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var guest = new StandardErrorOnlyFixed();
        var greeter = new Thread(guest::tryToGreet, "greeter");
        var other = new Thread(guest::forget, "other");
        greeter.start();
        other.start();
        greeter.join();
        other.join();
        System.out.println("done");
    }
}
