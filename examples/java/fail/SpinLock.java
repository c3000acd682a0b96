// A lock made of a flag: whoever finds it down raises it. Two threads may find it down.
//
// Meant to be atomic: Till.add. Both threads wait in a loop that does nothing but read, and so does main: a thread
// that waits in this way must not run on until its turn is over.
//
//   Alice  SpinLock.java:42  reads busy false
//   Bob    SpinLock.java:42  reads busy false, raises it, reads sum 0
//   Alice  SpinLock.java:45  raises it as well, adds 1
//   Bob    SpinLock.java:59  writes sum 1 again
//
// expect: violation Till.add
// also: violation Flag.acquire
// whole:  sum 2
// torn:   sum 1, expected 2
public class SpinLock {
    static volatile int running = 2;

    public static void main(String[] args) {
        var till = new Till();
        new Thread(() -> work(till), "Alice").start();
        new Thread(() -> work(till), "Bob").start();
        while (running > 0) {
            // Wait for both.
        }
        System.out.println("sum " + till.sum + (till.sum == 2 ? "" : ", expected 2"));
    }

    private static void work(Till till) {
        till.add(1);
        finished();
    }

    private static synchronized void finished() {
        running--;
    }
}

class Flag {
    private volatile boolean busy;

    void acquire() {
        while (busy) {
            // Wait for whoever has it.
        }
        busy = true;
    }

    void release() {
        busy = false;
    }
}

class Till {
    private final Flag flag = new Flag();
    int sum;

    void add(int amount) {
        flag.acquire();
        sum += amount;
        flag.release();
    }
}
