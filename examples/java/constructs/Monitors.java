// Monitors entered and left in every way the language has.
//
// After each part the monitors must be free: another thread takes them all before the program goes
// on.
//
// expect: output
public class Monitors {
    static final Object outer = new Object();
    static final Object inner = new Object();
    static int entered;

    static synchronized int staticMethod(int n) {
        return n == 0 ? 0 : 1 + staticMethod(n - 1);
    }

    synchronized int instanceMethod(int n) {
        synchronized (this) {
            return n == 0 ? 0 : 1 + instanceMethod(n - 1);
        }
    }

    static int earlyReturn(int n) {
        synchronized (outer) {
            if (n < 0) {
                return -1;
            }
            synchronized (inner) {
                if (n == 0) {
                    return 0;
                }
            }
            return 1;
        }
    }

    static int leaveLoops() {
        int rounds = 0;
        search:
        for (int i = 0; i < 5; i++) {
            synchronized (outer) {
                for (int j = 0; j < 5; j++) {
                    synchronized (inner) {
                        rounds++;
                        if (j == 1) {
                            continue search;
                        }
                        if (i == 3) {
                            break search;
                        }
                    }
                }
            }
        }
        return rounds;
    }

    static void throwsFromBlock() {
        synchronized (outer) {
            synchronized (inner) {
                throw new IllegalStateException("from a block");
            }
        }
    }

    synchronized void throwsFromMethod() {
        throw new IllegalStateException("from a method");
    }

    static synchronized void throwsFromStaticMethod() {
        throw new IllegalStateException("from a static method");
    }

    static String caught(Runnable action) {
        try {
            action.run();
            return "nothing";
        } catch (RuntimeException e) {
            return e.getClass().getSimpleName() + " " + e.getMessage();
        }
    }

    /** Another thread takes every monitor; it would hang if one were still held. */
    static void allFree(Monitors object, String part) throws InterruptedException {
        var taker = new Thread(() -> {
            synchronized (outer) {
                synchronized (inner) {
                    synchronized (object) {
                        synchronized (Monitors.class) {
                            entered++;
                        }
                    }
                }
            }
        }, "taker");
        taker.start();
        taker.join();
        System.out.println(part + ": free " + entered);
    }

    public static void main(String[] args) throws InterruptedException {
        var object = new Monitors();
        System.out.println("recursion " + staticMethod(20) + " " + object.instanceMethod(20));
        allFree(object, "recursion");
        System.out.println("returns " + earlyReturn(-5) + earlyReturn(0) + earlyReturn(5));
        allFree(object, "returns");
        System.out.println("loops " + leaveLoops());
        allFree(object, "loops");
        System.out.println("caught " + caught(Monitors::throwsFromBlock));
        System.out.println("caught " + caught(object::throwsFromMethod));
        System.out.println("caught " + caught(Monitors::throwsFromStaticMethod));
        allFree(object, "exceptions");
        Object nothing = null;
        var onNull = caught(() -> {
            synchronized (nothing) {
                entered = -1;
            }
        });
        System.out.println("on null " + onNull.startsWith("NullPointerException"));
        synchronized (outer) {
            synchronized (outer) {
                System.out.println("outer held " + Thread.holdsLock(outer));
                System.out.println("inner held " + Thread.holdsLock(inner));
            }
            System.out.println("still held " + Thread.holdsLock(outer));
        }
        System.out.println("held at the end " + Thread.holdsLock(outer));
        allFree(object, "end");
    }
}
