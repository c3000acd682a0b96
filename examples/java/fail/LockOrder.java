// Two locks, taken in opposite orders: the smallest deadlock.
//
// Meant to be atomic: both transfers, and they are; but they may never end:
//
//   Alice  LockOrder.java:18  takes left
//   Bob    LockOrder.java:26  takes right
//   Alice  LockOrder.java:19  waits for right
//   Bob    LockOrder.java:27  waits for left
//
// expect: deadlock
// whole:  2 transfers
public class LockOrder {
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
        synchronized (right) {
            synchronized (left) {
                transfers++;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var alice = new Thread(LockOrder::leftToRight, "Alice");
        var bob = new Thread(LockOrder::rightToLeft, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println(transfers + " transfers");
    }
}
