// Object.wait in every form: timed, notified, interrupted, with the monitor held three times,
// without it.
//
// Nothing here depends on how long anything takes: whoever waits with a timeout waits for something
// that never comes.
//
// expect: output
public class WaitNotify {
    static final Object lock = new Object();
    static boolean ready;
    static int waiting;
    static int woken;

    public static void main(String[] args) throws InterruptedException {
        timedWait();
        notifyAllWakesAll();
        interruptedWhileWaiting();
        interruptedBeforeWaiting();
        waitGivesUpAllThreeEntries();
        withoutTheMonitor();
    }

    static void timedWait() throws InterruptedException {
        synchronized (lock) {
            lock.wait(5);
            lock.wait(0, 500_000);
            System.out.println("timed wait ends, holding " + Thread.holdsLock(lock));
        }
    }

    static void notifyAllWakesAll() throws InterruptedException {
        var threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(WaitNotify::waitUntilReady, "waiter-" + i);
            threads[i].start();
        }
        synchronized (lock) {
            while (waiting < threads.length) {
                lock.wait();
            }
            ready = true;
            lock.notifyAll();
        }
        for (var thread : threads) {
            thread.join();
        }
        System.out.println("woken " + woken);
    }

    static void waitUntilReady() {
        synchronized (lock) {
            waiting++;
            lock.notifyAll();
            while (!ready) {
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
            woken++;
        }
    }

    static void interruptedWhileWaiting() throws InterruptedException {
        var own = new Object();
        var waiter = new Thread(() -> {
            synchronized (own) {
                try {
                    while (true) {
                        own.wait();
                    }
                } catch (InterruptedException e) {
                    boolean flag = Thread.currentThread().isInterrupted();
                    boolean holding = Thread.holdsLock(own);
                    System.out.println("interrupted, flag " + flag + ", holding " + holding);
                }
            }
        }, "waiter");
        waiter.start();
        waiter.interrupt();
        waiter.join();
    }

    static void interruptedBeforeWaiting() {
        Thread.currentThread().interrupt();
        synchronized (lock) {
            try {
                lock.wait();
                System.out.println("not reached");
            } catch (InterruptedException e) {
                System.out.println("interrupted before, flag " + Thread.interrupted());
            }
        }
    }

    static void waitGivesUpAllThreeEntries() throws InterruptedException {
        var own = new Object();
        boolean[] go = {false};
        var opener = new Thread(() -> {
            synchronized (own) {
                go[0] = true;
                own.notify();
            }
        }, "opener");
        synchronized (own) {
            synchronized (own) {
                synchronized (own) {
                    opener.start();
                    while (!go[0]) {
                        own.wait();
                    }
                    System.out.println("depth 3: " + go[0] + ", holding " + Thread.holdsLock(own));
                }
                System.out.println("depth 2: holding " + Thread.holdsLock(own));
            }
            System.out.println("depth 1: holding " + Thread.holdsLock(own));
        }
        System.out.println("depth 0: holding " + Thread.holdsLock(own));
        opener.join();
    }

    static void withoutTheMonitor() throws InterruptedException {
        try {
            lock.wait();
        } catch (IllegalMonitorStateException e) {
            System.out.println("wait without the monitor");
        }
        try {
            lock.notify();
        } catch (IllegalMonitorStateException e) {
            System.out.println("notify without the monitor");
        }
        try {
            synchronized (WaitNotify.class) {
                lock.notifyAll();
            }
        } catch (IllegalMonitorStateException e) {
            System.out.println("notifyAll with another monitor");
        }
        try {
            synchronized (lock) {
                lock.wait(-1);
            }
        } catch (IllegalArgumentException e) {
            System.out.println("negative timeout");
        }
    }
}
