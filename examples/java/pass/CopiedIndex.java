// A queue of one producer and several consumers that take turns by compare-and-set.
//
// Meant to be atomic: nothing but the compareAndSet. Consumers keep a copy of the producer's index, so that they do not
// have to look at the index itself each time, and look it up anew when the copy says that there is nothing left. Two
// of them may do so at once, and one overwrites what the other one wrote. Nothing is lost: what is written
// is not worked out from the copy that was there, but is the index itself. SpmcArrayQueue of JCTools does so.
//
// The argument is the number of elements, 8 by default.
//
// expect: serializable
import java.util.concurrent.atomic.AtomicInteger;

public class CopiedIndex {
    public static void main(String[] args) throws InterruptedException {
        int elements = args.length > 0 ? Integer.parseInt(args[0]) : 8;
        var queue = new Queue(elements);
        var producer = new Thread(queue::produce, "producer");
        var one = new Thread(queue::consume, "one");
        var other = new Thread(queue::consume, "other");
        producer.start();
        one.start();
        other.start();
        producer.join();
        one.join();
        other.join();
        System.out.println("taken " + queue.taken());
    }
}

class Queue {
    private final int elements;
    private volatile int produced;
    private volatile int copy;
    private final AtomicInteger taken = new AtomicInteger();

    Queue(int elements) {
        this.elements = elements;
    }

    void produce() {
        for (int i = 0; i < elements; i++) {
            produced = i + 1;
        }
    }

    void consume() {
        while (taken.get() < elements) {
            if (!take()) {
                Thread.yield();
            }
        }
    }

    private boolean take() {
        int next = taken.get();
        if (next >= copy) {
            int now = produced;
            if (next >= now) {
                return false;
            }
            copy = now;
        }
        return taken.compareAndSet(next, next + 1);
    }

    int taken() {
        return taken.get();
    }
}
