// Producers and consumers on the executors and queues of java.util.concurrent.
//
// Meant to be atomic: nothing of our own. Every shared object is one of the library's, each is used
// by single calls, and no call depends on the answer of an earlier one: a queue between the stages,
// futures for the sums, a latch that says when the last producer is done.
//
// The argument is the number of items of each producer, 50 by default.
//
// expect: serializable
import java.util.ArrayList;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class ProducerConsumer {
    static final int PRODUCERS = 3;
    static final int CONSUMERS = 2;
    static final int END = -1;

    public static void main(String[] args) throws Exception {
        int items = args.length > 0 ? Integer.parseInt(args[0]) : 50;
        var queue = new ArrayBlockingQueue<Integer>(4);
        var produced = new CountDownLatch(PRODUCERS);
        var pool = Executors.newFixedThreadPool(PRODUCERS + CONSUMERS);

        var sums = new ArrayList<Future<Long>>();
        for (int c = 0; c < CONSUMERS; c++) {
            sums.add(pool.submit(() -> consume(queue)));
        }
        for (int p = 0; p < PRODUCERS; p++) {
            int start = p;
            pool.submit(() -> {
                produce(queue, start, items);
                produced.countDown();
                return null;
            });
        }

        produced.await();
        for (int c = 0; c < CONSUMERS; c++) {
            queue.put(END);
        }
        long sum = 0;
        for (var part : sums) {
            sum += part.get();
        }
        pool.shutdown();
        int all = PRODUCERS * items;
        System.out.println("items " + all + ", sum " + sum + ", left " + queue.size());
    }

    static void produce(BlockingQueue<Integer> queue, int start, int items)
            throws InterruptedException {
        for (int i = 0; i < items; i++) {
            queue.put(start + PRODUCERS * i);
        }
    }

    static long consume(BlockingQueue<Integer> queue) throws InterruptedException {
        long sum = 0;
        for (int item = queue.take(); item != END; item = queue.take()) {
            sum += item;
        }
        return sum;
    }
}
