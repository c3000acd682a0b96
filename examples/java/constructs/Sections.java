// Sections of locks in every shape: nested, crossed over, left by an exception, tried in vain, taken in one method and
// given back in another, shared, converted, given up while waiting.
//
// expect: output
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

public class Sections {
    final Lock first = new ReentrantLock();
    final ReentrantLock second = new ReentrantLock();
    final Condition changed = second.newCondition();
    final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    final StampedLock stamps = new StampedLock();
    int x;
    int y;
    int z;
    int w;

    public static void main(String[] args) throws InterruptedException {
        var sections = new Sections();
        var threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> sections.run(), "worker-" + i);
            threads[i].start();
        }
        for (var thread : threads) {
            thread.join();
        }
        System.out.println("x " + sections.x + ", y " + sections.y + ", z " + sections.z + ", w " + sections.w);
        sections.handOver();
        sections.interrupted();
    }

    void run() {
        for (int round = 0; round < 10; round++) {
            nested();
            crossed();
            try {
                thrown();
            } catch (IllegalStateException expected) {
                tried();
            }
            take();
            give();
            downgraded();
            stamped();
        }
    }

    void nested() {
        first.lock();
        try {
            second.lock();
            try {
                second.lock();
                x++;
                second.unlock();
            } finally {
                second.unlock();
            }
        } finally {
            first.unlock();
        }
    }

    /** Hand over hand. */
    void crossed() {
        first.lock();
        x++;
        second.lock();
        first.unlock();
        y++;
        second.unlock();
    }

    void thrown() {
        second.lock();
        try {
            y++;
            throw new IllegalStateException();
        } finally {
            second.unlock();
        }
    }

    void tried() {
        try {
            if (second.tryLock() || second.tryLock(1, TimeUnit.SECONDS)) {
                y++;
                second.unlock();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    void take() {
        first.lock();
        x++;
    }

    void give() {
        x++;
        first.unlock();
    }

    void downgraded() {
        both.writeLock().lock();
        z++;
        both.readLock().lock();
        both.writeLock().unlock();
        int seen = z;
        both.readLock().unlock();
        if (seen < 0) {
            throw new IllegalStateException();
        }
    }

    void stamped() {
        long stamp = stamps.readLock();
        long writing = stamps.tryConvertToWriteLock(stamp);
        if (writing == 0) {
            stamps.unlockRead(stamp);
            writing = stamps.writeLock();
        }
        w += 2;
        stamps.unlock(writing);
        stamps.asReadLock().lock();
        stamps.asReadLock().unlock();
    }

    /** Waits with the lock taken twice. */
    void handOver() throws InterruptedException {
        var giver = new Thread(() -> {
            second.lock();
            try {
                z = -1;
                changed.signalAll();
            } finally {
                second.unlock();
            }
        }, "giver");
        second.lock();
        second.lock();
        giver.start();
        while (z >= 0) {
            changed.await();
        }
        System.out.println("held " + second.getHoldCount());
        second.unlock();
        second.unlock();
        giver.join();
    }

    void interrupted() {
        second.lock();
        try {
            Thread.currentThread().interrupt();
            changed.await();
        } catch (InterruptedException e) {
            System.out.println("interrupted, held " + second.getHoldCount() + ", "
                    + e.getStackTrace()[1].getMethodName());
        } finally {
            second.unlock();
        }
        try {
            second.unlock();
        } catch (IllegalMonitorStateException e) {
            System.out.println("not held");
        }
        try {
            changed.signal();
        } catch (IllegalMonitorStateException e) {
            System.out.println("nothing to signal");
        }
    }
}
