// Thread.sleep, yield, join with a timeout, and the interrupt of a sleeper.
//
// The long sleep is never slept to its end: an interrupt ends it.
//
// expect: output
import java.util.concurrent.TimeUnit;

public class Sleepers {
    public static void main(String[] args) throws InterruptedException {
        Thread.sleep(2);
        Thread.sleep(0);
        Thread.sleep(1, 500_000);
        TimeUnit.MICROSECONDS.sleep(100);
        System.out.println("slept");

        var sleeper = new Thread(Sleepers::sleepLong, "sleeper");
        System.out.println("before the start: " + sleeper.getState());
        sleeper.start();
        sleeper.join(5);
        sleeper.join(0, 1);
        System.out.println("after a timed join: alive " + sleeper.isAlive());
        sleeper.interrupt();
        sleeper.join();
        System.out.println("after the join: " + sleeper.getState());
        sleeper.join();
        sleeper.join(5);
        System.out.println("joined again");

        Thread.currentThread().interrupt();
        try {
            Thread.sleep(100_000);
            System.out.println("not reached");
        } catch (InterruptedException e) {
            System.out.println("interrupted before the sleep, flag " + Thread.interrupted());
        }

        var main = Thread.currentThread();
        var waker = new Thread(main::interrupt, "waker");
        var never = new Thread(Sleepers::sleepLong, "never");
        never.start();
        waker.start();
        try {
            never.join();
            System.out.println("not reached");
        } catch (InterruptedException e) {
            System.out.println("interrupted in join");
        }
        never.interrupt();
        never.join();
        waker.join();

        for (int i = 0; i < 100; i++) {
            Thread.yield();
            Thread.onSpinWait();
        }
        System.out.println("yielded");
        try {
            Thread.sleep(-1);
        } catch (IllegalArgumentException e) {
            System.out.println("negative sleep");
        }
    }

    static void sleepLong() {
        try {
            Thread.sleep(1_000_000);
            System.out.println("not reached");
        } catch (InterruptedException e) {
            boolean flag = Thread.currentThread().isInterrupted();
            System.out.println("sleeper interrupted, flag " + flag);
        }
    }
}
