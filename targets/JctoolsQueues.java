// JCTools 4.0.2: two threads offer and two poll, through each kind of queue for many producers, and a non-blocking map.
//
// The queues are made of sun.misc.Unsafe, padded fields and spinning. Everything that was offered is polled once.
//
// maven: org.jctools:jctools-core:4.0.2
// expect: output
import java.util.Queue;
import java.util.concurrent.atomic.AtomicInteger;
import org.jctools.maps.NonBlockingHashMapLong;
import org.jctools.queues.MpmcArrayQueue;
import org.jctools.queues.MpmcUnboundedXaddArrayQueue;
import org.jctools.queues.MpscLinkedQueue;
import org.jctools.queues.MpscUnboundedArrayQueue;
import org.jctools.queues.SpmcArrayQueue;

public class JctoolsQueues {
    static final int ITEMS = 2000;

    public static void main(String[] args) throws Exception {
        run("MpmcArrayQueue", new MpmcArrayQueue<>(64), 2, 2);
        run("MpmcUnboundedXaddArrayQueue", new MpmcUnboundedXaddArrayQueue<>(64), 2, 2);
        run("MpscLinkedQueue", new MpscLinkedQueue<>(), 2, 1);
        run("MpscUnboundedArrayQueue", new MpscUnboundedArrayQueue<>(64), 2, 1);
        run("SpmcArrayQueue", new SpmcArrayQueue<>(64), 1, 2);
    }

    static void run(String name, Queue<Integer> queue, int producers, int consumers) throws InterruptedException {
        var left = new AtomicInteger(producers * ITEMS);
        var seen = new NonBlockingHashMapLong<Integer>();
        var threads = new Thread[producers + consumers];
        for (int number = 0; number < threads.length; number++) {
            int own = number;
            threads[number] = number < producers
                    ? new Thread(() -> offer(queue, own), name + " producer " + number)
                    : new Thread(() -> poll(queue, left, seen), name + " consumer " + number);
            threads[number].start();
        }
        for (var thread : threads) {
            thread.join();
        }
        System.out.println(name + ": " + seen.size() + " items, " + queue.size() + " left");
    }

    static void offer(Queue<Integer> queue, int own) {
        for (int item = 0; item < ITEMS; item++) {
            while (!queue.offer(own * ITEMS + item)) {
                Thread.yield();
            }
        }
    }

    static void poll(Queue<Integer> queue, AtomicInteger left, NonBlockingHashMapLong<Integer> seen) {
        while (left.get() > 0) {
            var item = queue.poll();
            if (item == null) {
                Thread.yield();
            } else {
                if (seen.put(item.longValue(), item) != null) {
                    System.out.println("twice: " + item);
                }
                left.decrementAndGet();
            }
        }
    }
}
