// LockSupport: a permit is kept until it is used, two permits are one, an interrupt ends a park.
//
// expect: output
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

public class ParkUnpark {
    public static void main(String[] args) throws InterruptedException {
        permitFirst();
        permitsDoNotAddUp();
        parkedUntilReleased();
        timed();
        interrupted();
    }

    static void permitFirst() {
        LockSupport.unpark(Thread.currentThread());
        LockSupport.park();
        System.out.println("a permit given before is used");
    }

    static void permitsDoNotAddUp() {
        LockSupport.unpark(Thread.currentThread());
        LockSupport.unpark(Thread.currentThread());
        LockSupport.park();
        long before = System.nanoTime();
        LockSupport.parkNanos(10_000_000);
        boolean parked = System.nanoTime() - before >= 9_000_000;
        System.out.println("the second permit was not kept: parked again " + parked);
    }

    static void parkedUntilReleased() throws InterruptedException {
        var released = new AtomicBoolean();
        var parked = new Thread(() -> {
            while (!released.get()) {
                LockSupport.park(released);
            }
            System.out.println("released");
        }, "parked");
        parked.start();
        released.set(true);
        LockSupport.unpark(parked);
        parked.join();
        LockSupport.unpark(parked);
        System.out.println("unpark of a dead thread does nothing");
        LockSupport.unpark(null);
    }

    static void timed() {
        LockSupport.parkNanos(1_000_000);
        LockSupport.parkNanos(ParkUnpark.class, 1_000_000);
        LockSupport.parkNanos(0);
        LockSupport.parkUntil(System.currentTimeMillis() + 2);
        LockSupport.parkUntil(1);
        System.out.println("timed parks end");
    }

    static void interrupted() throws InterruptedException {
        var parked = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                LockSupport.park();
            }
            LockSupport.park();
            System.out.println("interrupted, flag still " + Thread.interrupted()
                    + ", then " + Thread.interrupted());
        }, "parked");
        parked.start();
        parked.interrupt();
        parked.join();
    }
}
