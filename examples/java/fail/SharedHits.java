// A counter that is changed under the shared side of a reader-writer lock: readers do not exclude each other.
//
// Meant to be atomic: SharedHits.read, as far as it counts its readers:
//
//   Alice  enters as a reader, reads 0
//   Bob    enters as a reader, reads 0, writes 1
//   Alice  writes 1: one reader is not counted
//
// expect: violation SharedHits.read
// whole:  2 readers
// torn:   1 reader
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class SharedHits {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final String text = "text";
    private int readers;

    private String read() {
        lock.readLock().lock();
        try {
            int seen = readers;
            readers = seen + 1;
            return text;
        } finally {
            lock.readLock().unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var shared = new SharedHits();
        var alice = new Thread(shared::read, "Alice");
        var bob = new Thread(shared::read, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println(shared.readers == 1 ? "1 reader" : shared.readers + " readers");
    }
}
