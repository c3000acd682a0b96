// The two locks of LockOrder, taken in the same order by everybody.
//
// Meant to be atomic: both transfers. They cannot be torn, and no thread can hold `right` while it
// waits for `left`.
//
// expect: serializable
public class LockOrderFixed {
    static final Object left = new Object();
    static final Object right = new Object();
    static int transfers;

    static void leftToRight() {
        synchronized (left) {
            synchronized (right) {
                transfers++;
            }
        }
    }

    static void rightToLeft() {
        synchronized (left) {
            synchronized (right) {
                transfers++;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var alice = new Thread(LockOrderFixed::leftToRight, "Alice");
        var bob = new Thread(LockOrderFixed::rightToLeft, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println(transfers + " transfers");
    }
}
