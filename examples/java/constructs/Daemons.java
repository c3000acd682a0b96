// Daemon threads that still run, wait and hold locks when the program ends.
//
// The program ends with its last ordinary thread, which is not the main thread.
//
// expect: output
import java.util.concurrent.CountDownLatch;

public class Daemons {
    static final CountDownLatch started = new CountDownLatch(3);
    static volatile long rounds;

    public static void main(String[] args) throws InterruptedException {
        daemon("spinner", Daemons::spin);
        daemon("waiter", Daemons::waitForever);
        daemon("sleeper", Daemons::sleepForever);
        started.await();
        System.out.println("all daemons run");
        var main = Thread.currentThread();
        new Thread(() -> {
            try {
                main.join();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            System.out.println("main is " + main.getState() + ", last ordinary thread ends");
        }, "last").start();
        System.out.println("main ends");
    }

    static void daemon(String name, Runnable work) {
        var thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    static void spin() {
        started.countDown();
        while (true) {
            rounds = rounds + 1;
            Thread.yield();
        }
    }

    static void waitForever() {
        synchronized (started) {
            started.countDown();
            try {
                while (true) {
                    started.wait();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static void sleepForever() {
        started.countDown();
        try {
            while (true) {
                Thread.sleep(1);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
