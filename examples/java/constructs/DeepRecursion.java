// A stack overflow inside synchronized methods, caught, and life afterwards.
//
// However deep the recursion was, every entry into the monitor is left again: another thread gets
// it.
//
// expect: output
// replay: how deep the stack goes depends on what is compiled
public class DeepRecursion {
    private int depth;
    private int after;

    synchronized void descend() {
        depth++;
        descend();
    }

    void descendInBlock() {
        synchronized (this) {
            depth++;
            descendInBlock();
        }
    }

    synchronized int sum(int n) {
        return n == 0 ? 0 : n + sum(n - 1);
    }

    synchronized void work() {
        after++;
    }

    public static void main(String[] args) throws InterruptedException {
        var object = new DeepRecursion();
        var deep = new Thread(null, () -> overflowTwice(object), "deep", 1 << 19);
        deep.start();
        deep.join();
        Runnable work = () -> {
            for (int i = 0; i < 100; i++) {
                object.work();
            }
        };
        var alice = new Thread(work, "Alice");
        var bob = new Thread(work, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("worked " + object.after + " times, sum " + object.sum(200));
    }

    static void overflowTwice(DeepRecursion object) {
        try {
            object.descend();
        } catch (StackOverflowError e) {
            System.out.println("overflow in methods, deep " + (object.depth > 500)
                    + ", holding " + Thread.holdsLock(object));
        }
        object.depth = 0;
        try {
            object.descendInBlock();
        } catch (StackOverflowError e) {
            System.out.println("overflow in blocks, deep " + (object.depth > 500)
                    + ", holding " + Thread.holdsLock(object));
        }
    }
}
