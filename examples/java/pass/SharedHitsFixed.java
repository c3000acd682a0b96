// The counter of SharedHits, which needs no lock.
//
// Meant to be atomic: SharedHitsFixed.read, as far as it counts its readers, and that is one step.
//
// expect: serializable
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class SharedHitsFixed {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final String text = "text";
    private final AtomicInteger readers = new AtomicInteger();

    private String read() {
        lock.readLock().lock();
        try {
            readers.incrementAndGet();
            return text;
        } finally {
            lock.readLock().unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var shared = new SharedHitsFixed();
        var alice = new Thread(shared::read, "Alice");
        var bob = new Thread(shared::read, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println(shared.readers.get() + " readers");
    }
}
