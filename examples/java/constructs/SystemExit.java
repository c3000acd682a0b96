// A worker ends the program with code 7 while others hold locks, wait and sleep.
//
// The shutdown hook still runs; nobody else gets any further.
//
// expect: output
// exit: 7
import java.util.concurrent.CountDownLatch;

public class SystemExit {
    static final Object lock = new Object();
    static final CountDownLatch busy = new CountDownLatch(3);
    static final CountDownLatch never = new CountDownLatch(1);

    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook"), "hook"));
        new Thread(SystemExit::holdForever, "holder").start();
        new Thread(SystemExit::waitForever, "waiter").start();
        new Thread(SystemExit::sleepForever, "sleeper").start();
        new Thread(SystemExit::exit, "exiter").start();
    }

    static void exit() {
        try {
            busy.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        System.out.println("exit");
        try {
            System.exit(7);
        } finally {
            System.out.println("not reached");
        }
    }

    static void holdForever() {
        synchronized (lock) {
            busy.countDown();
            try {
                never.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void waitForever() {
        synchronized (never) {
            busy.countDown();
            try {
                while (true) {
                    never.wait();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void sleepForever() {
        busy.countDown();
        try {
            Thread.sleep(1_000_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
