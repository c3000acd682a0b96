// The lock of SpinLock, with the flag tested and raised in one step.
//
// Meant to be atomic: Till.add, and it is.
//
// expect: serializable
import java.util.concurrent.atomic.AtomicBoolean;

public class SpinLockFixed {
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
    private final AtomicBoolean busy = new AtomicBoolean();

    void acquire() {
        while (!busy.compareAndSet(false, true)) {
            // Wait for whoever has it.
        }
    }

    void release() {
        busy.set(false);
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
