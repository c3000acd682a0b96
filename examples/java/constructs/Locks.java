// The locks of java.util.concurrent, each with one fact that proves its meaning.
//
// expect: output
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.Phaser;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

public class Locks {
    public static void main(String[] args) throws Exception {
        reentrantLock();
        condition();
        readWriteLock();
        stampedLock();
        semaphore();
        latch();
        barrier();
        phaser();
        exchanger();
    }

    /** Runs the actions, each in a thread of its own, and waits for all of them. */
    static void together(Action... actions) throws InterruptedException {
        var threads = new Thread[actions.length];
        for (int i = 0; i < actions.length; i++) {
            var action = actions[i];
            threads[i] = new Thread(() -> {
                try {
                    action.run();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }, "worker-" + i);
            threads[i].start();
        }
        for (var thread : threads) {
            thread.join();
        }
    }

    interface Action {
        void run() throws Exception;
    }

    static void reentrantLock() throws InterruptedException {
        var lock = new ReentrantLock();
        int[] count = {0};
        Action add = () -> {
            for (int i = 0; i < 100; i++) {
                lock.lock();
                try {
                    count[0]++;
                } finally {
                    lock.unlock();
                }
            }
        };
        together(add, add, add);
        System.out.println("lock: count " + count[0]);
        lock.lock();
        lock.lock();
        boolean[] got = {true, true};
        together(() -> {
            got[0] = lock.tryLock();
            got[1] = lock.tryLock(2, TimeUnit.MILLISECONDS);
        });
        System.out.println("lock: held " + lock.getHoldCount() + " times");
        System.out.println("lock: others " + got[0] + " " + got[1]);
        lock.unlock();
        lock.unlock();
        try {
            lock.unlock();
        } catch (IllegalMonitorStateException e) {
            System.out.println("lock: unlocked once too often");
        }
    }

    static void condition() throws InterruptedException {
        var lock = new ReentrantLock(true);
        var changed = lock.newCondition();
        int[] turn = {0};
        var order = new StringBuilder();
        Action[] players = new Action[3];
        for (int p = 0; p < players.length; p++) {
            int me = p;
            players[p] = () -> {
                for (int round = 0; round < 3; round++) {
                    lock.lock();
                    try {
                        while (turn[0] != me) {
                            changed.await();
                        }
                        order.append(me);
                        turn[0] = (me + 1) % 3;
                        changed.signalAll();
                    } finally {
                        lock.unlock();
                    }
                }
            };
        }
        together(players);
        System.out.println("condition: " + order);
        lock.lock();
        System.out.println("condition: in time " + changed.await(1, TimeUnit.MILLISECONDS));
        lock.unlock();
    }

    static void readWriteLock() throws InterruptedException {
        var lock = new ReentrantReadWriteLock();
        int[] pair = {0, 0};
        int[] torn = {0};
        Action write = () -> {
            for (int i = 0; i < 50; i++) {
                lock.writeLock().lock();
                pair[0]++;
                pair[1]++;
                lock.writeLock().unlock();
            }
        };
        Action read = () -> {
            for (int i = 0; i < 50; i++) {
                lock.readLock().lock();
                if (pair[0] != pair[1]) {
                    torn[0]++;
                }
                lock.readLock().unlock();
            }
        };
        together(write, read, write);
        System.out.println("read-write: pair " + pair[0] + " " + pair[1] + ", torn " + torn[0]);
        lock.readLock().lock();
        boolean[] got = new boolean[2];
        together(() -> {
            got[0] = lock.readLock().tryLock();
            got[1] = lock.writeLock().tryLock();
            lock.readLock().unlock();
        });
        System.out.println("read-write: second reader " + got[0] + ", writer " + got[1]);
        lock.readLock().unlock();
    }

    static void stampedLock() {
        var lock = new StampedLock();
        long optimistic = lock.tryOptimisticRead();
        boolean before = lock.validate(optimistic);
        long write = lock.writeLock();
        boolean during = lock.validate(optimistic);
        lock.unlockWrite(write);
        System.out.println("stamped: valid " + before + ", with a writer " + during);
    }

    static void semaphore() throws InterruptedException {
        var permits = new Semaphore(2);
        int[] inside = {0, 0};
        var guard = new Object();
        Action visit = () -> {
            for (int i = 0; i < 20; i++) {
                permits.acquire();
                synchronized (guard) {
                    inside[0]++;
                    inside[1] = Math.max(inside[1], inside[0]);
                }
                synchronized (guard) {
                    inside[0]--;
                }
                permits.release();
            }
        };
        together(visit, visit, visit, visit);
        System.out.println("semaphore: at most two " + (inside[1] <= 2));
        System.out.println("semaphore: left " + permits.availablePermits());
        System.out.println("semaphore: three at once " + permits.tryAcquire(3));
    }

    static void latch() throws InterruptedException {
        var start = new CountDownLatch(1);
        var done = new CountDownLatch(3);
        int[] value = {0};
        int[] seen = {0, 0, 0};
        var readers = new Thread[3];
        for (int i = 0; i < 3; i++) {
            int me = i;
            readers[i] = new Thread(() -> {
                try {
                    start.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                seen[me] = value[0];
                done.countDown();
            }, "reader-" + i);
            readers[i].start();
        }
        System.out.println("latch: early " + done.await(1, TimeUnit.MILLISECONDS));
        value[0] = 42;
        start.countDown();
        done.await();
        System.out.println("latch: seen " + seen[0] + " " + seen[1] + " " + seen[2]);
    }

    static void barrier() throws InterruptedException {
        int[] rounds = {0};
        int[] early = {0};
        int[] steps = new int[3];
        var barrier = new CyclicBarrier(3, () -> {
            rounds[0]++;
            for (int step : steps) {
                if (step != rounds[0]) {
                    early[0]++;
                }
            }
        });
        Action[] runners = new Action[3];
        for (int i = 0; i < 3; i++) {
            int me = i;
            runners[i] = () -> {
                for (int round = 0; round < 5; round++) {
                    steps[me]++;
                    barrier.await();
                }
            };
        }
        together(runners);
        System.out.println("barrier: rounds " + rounds[0] + ", early " + early[0]);
        Thread.currentThread().interrupt();
        try {
            barrier.await();
        } catch (InterruptedException e) {
            System.out.println("barrier: interrupted, broken " + barrier.isBroken());
        } catch (BrokenBarrierException e) {
            System.out.println("not reached");
        }
    }

    static void phaser() throws InterruptedException {
        var phaser = new Phaser(2);
        Action walk = () -> {
            phaser.arriveAndAwaitAdvance();
            phaser.arriveAndAwaitAdvance();
            phaser.arriveAndDeregister();
        };
        together(walk, walk);
        System.out.println("phaser: terminated " + phaser.isTerminated());
    }

    static void exchanger() throws InterruptedException {
        var exchanger = new Exchanger<String>();
        var got = new String[2];
        together(
                () -> got[0] = exchanger.exchange("left"),
                () -> got[1] = exchanger.exchange("right"));
        System.out.println("exchanger: " + got[0] + " " + got[1]);
    }
}
