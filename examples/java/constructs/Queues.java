// What java.util.concurrent has for handing things over and keeping them: queues, maps, thread-locals, timers.
//
// expect: output
import java.util.Timer;
import java.util.TimerTask;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

public class Queues {
    static final int ITEMS = 12;

    public static void main(String[] args) throws InterruptedException {
        System.out.println("array " + through(new ArrayBlockingQueue<>(2)));
        System.out.println("linked " + through(new LinkedBlockingQueue<>(3)));
        System.out.println("deque " + through(new LinkedBlockingDeque<>(1)));
        System.out.println("synchronous " + through(new SynchronousQueue<>()));
        System.out.println("transfer " + through(new LinkedTransferQueue<>()));
        System.out.println("priority " + through(new PriorityBlockingQueue<>()));
        delayed();
        maps();
        lists();
        locals();
        timers();
    }

    /** Two producers, two consumers; the sum of what came through. */
    static int through(BlockingQueue<Integer> queue) throws InterruptedException {
        var sum = new AtomicInteger();
        var threads = new Thread[4];
        for (int i = 0; i < 4; i++) {
            boolean produces = i < 2;
            threads[i] = new Thread(() -> {
                try {
                    for (int item = 1; item <= ITEMS; item++) {
                        if (produces) {
                            queue.put(item);
                        } else {
                            sum.addAndGet(queue.take());
                        }
                    }
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }, (produces ? "producer-" : "consumer-") + i);
            threads[i].start();
        }
        for (var thread : threads) {
            thread.join();
        }
        if (queue.poll(1, TimeUnit.MILLISECONDS) != null) {
            throw new IllegalStateException("something is left");
        }
        return sum.get();
    }

    static final class Later implements Delayed {
        final long at;
        final String name;

        Later(long at, String name) {
            this.at = at;
            this.name = name;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(at - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            return Long.compare(at, ((Later) other).at);
        }
    }

    static void delayed() throws InterruptedException {
        var queue = new DelayQueue<Later>();
        long now = System.nanoTime();
        queue.add(new Later(now + 2_000_000, "second"));
        queue.add(new Later(now + 1_000_000, "first"));
        System.out.println("delayed " + queue.take().name + " " + queue.take().name);
    }

    static void maps() throws InterruptedException {
        var counts = new ConcurrentHashMap<String, Integer>();
        var sorted = new ConcurrentSkipListMap<Integer, Integer>();
        var queue = new ConcurrentLinkedQueue<Integer>();
        Runnable count = () -> {
            for (int i = 0; i < 60; i++) {
                counts.merge("k" + i % 5, 1, Integer::sum);
                counts.computeIfAbsent("once", key -> 1);
                sorted.putIfAbsent(i % 7, i);
                queue.add(i);
            }
        };
        var other = new Thread(count, "other");
        other.start();
        count.run();
        other.join();
        System.out.println("map " + new TreeMap<>(counts));
        System.out.println("sorted " + sorted.size() + ", queue " + queue.size());
    }

    static void lists() throws InterruptedException {
        var list = new CopyOnWriteArrayList<Integer>();
        Runnable add = () -> {
            for (int i = 0; i < 10; i++) {
                list.addIfAbsent(i);
            }
        };
        var other = new Thread(add, "other");
        other.start();
        add.run();
        other.join();
        System.out.println("list " + new TreeSet<>(list));
    }

    static void locals() throws InterruptedException {
        var local = ThreadLocal.withInitial(() -> 1);
        int[] seen = new int[2];
        var other = new Thread(() -> {
            local.set(local.get() + 1);
            seen[0] = local.get();
            local.remove();
            seen[1] = local.get();
        }, "other");
        local.set(10);
        other.start();
        other.join();
        System.out.println("local " + local.get() + " " + seen[0] + " " + seen[1]);
    }

    static void timers() throws InterruptedException {
        var ticks = new CountDownLatch(3);
        var timer = new Timer("timer", true);
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                ticks.countDown();
            }
        }, 1, 1);
        ticks.await();
        timer.cancel();
        System.out.println("timer " + ticks.getCount());
    }
}
