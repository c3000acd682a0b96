// The range of DoubleChecked, complete before it is shown, by a volatile field.
//
// Meant to be atomic: DoubleCheckedFixed.get. Who finds the range there finds it complete.
//
// expect: serializable
public class DoubleCheckedFixed {
    private static final class Range {
        int low;
        int high;
    }

    private volatile Range range;
    private volatile int seen = 10;

    private Range get() {
        if (range == null) {
            synchronized (this) {
                if (range == null) {
                    var made = new Range();
                    made.low = 10;
                    made.high = 20;
                    range = made;
                }
            }
        }
        return range;
    }

    private void measure() {
        var own = get();
        int low = own.low;
        int width = own.high - low;
        if (width != 10) {
            seen = width;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var lazy = new DoubleCheckedFixed();
        var alice = new Thread(lazy::measure, "Alice");
        var bob = new Thread(lazy::measure, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("range of " + lazy.seen);
    }
}
