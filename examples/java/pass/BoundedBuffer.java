// A bounded buffer with wait and notifyAll.
//
// Meant to be atomic: Buffer.put and Buffer.take, each from the moment its condition holds to its
// end. While a thread waits it gives up the lock on purpose, so a block that waits ends at the wait
// and begins anew after it; every time it looks at the condition again. Seen like this nothing is
// torn, and whatever the schedule, what goes in comes out once.
//
// The argument is the number of items of each producer, 20 by default.
//
// expect: serializable
public class BoundedBuffer {
    public static void main(String[] args) throws InterruptedException {
        int items = args.length > 0 ? Integer.parseInt(args[0]) : 20;
        var buffer = new Buffer(3);
        var odd = new Producer(buffer, 1, items);
        var even = new Producer(buffer, 2, items);
        var first = new Consumer(buffer, items);
        var second = new Consumer(buffer, items);
        var threads = new Thread[] {
            new Thread(odd, "odd"),
            new Thread(even, "even"),
            new Thread(first, "first"),
            new Thread(second, "second"),
        };
        for (var thread : threads) {
            thread.start();
        }
        for (var thread : threads) {
            thread.join();
        }
        System.out.println("items " + 2 * items + ", sum " + (first.sum + second.sum));
    }
}

class Buffer {
    private final int[] slots;
    private int head;
    private int count;

    Buffer(int capacity) {
        slots = new int[capacity];
    }

    synchronized void put(int item) throws InterruptedException {
        while (count == slots.length) {
            wait();
        }
        slots[(head + count) % slots.length] = item;
        count++;
        notifyAll();
    }

    synchronized int take() throws InterruptedException {
        while (count == 0) {
            wait();
        }
        int item = slots[head];
        head = (head + 1) % slots.length;
        count--;
        notifyAll();
        return item;
    }
}

record Producer(Buffer buffer, int start, int items) implements Runnable {
    @Override
    public void run() {
        try {
            for (int i = 0; i < items; i++) {
                buffer.put(start + 2 * i);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}

class Consumer implements Runnable {
    private final Buffer buffer;
    private final int items;
    long sum;

    Consumer(Buffer buffer, int items) {
        this.buffer = buffer;
        this.items = items;
    }

    @Override
    public void run() {
        try {
            for (int i = 0; i < items; i++) {
                sum += buffer.take();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
