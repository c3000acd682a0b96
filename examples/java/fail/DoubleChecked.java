// Double-checked locking that shows its object before it is complete: a reader sees a torn pair.
//
// Meant to be atomic: DoubleChecked.get, which makes the range and sets both of its ends. A second thread finds the
// range there, without the lock, and reads one end that is set and one that is not.
//
// expect: violation DoubleChecked.get
// whole:  range of 10
// torn:   range of -10
// or:     range of 0
// or:     range of 20
public class DoubleChecked {
    private static final class Range {
        int low;
        int high;
    }

    private Range range;
    private volatile int seen = 10;

    private Range get() {
        if (range == null) {
            synchronized (this) {
                if (range == null) {
                    range = new Range();
                    range.low = 10;
                    range.high = 20;
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
        var lazy = new DoubleChecked();
        var alice = new Thread(lazy::measure, "Alice");
        var bob = new Thread(lazy::measure, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("range of " + lazy.seen);
    }
}
