// The buffer of BufferIf, which looks again after it was woken.
//
// Meant to be atomic: BufferIfFixed.take from the last look to the removal, and it is.
//
// expect: serializable
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;

public class BufferIfFixed {
    private final ArrayDeque<String> items = new ArrayDeque<>();

    private synchronized void put(String item) {
        items.add(item);
        notifyAll();
    }

    private synchronized String take() throws InterruptedException {
        while (items.isEmpty()) {
            wait();
        }
        return items.remove();
    }

    public static void main(String[] args) throws InterruptedException {
        var buffer = new BufferIfFixed();
        var taken = new AtomicInteger();
        Runnable consume = () -> {
            try {
                buffer.take();
                taken.incrementAndGet();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        };
        var first = new Thread(consume, "first");
        var second = new Thread(consume, "second");
        first.start();
        second.start();
        buffer.put("one");
        buffer.put("two");
        first.join();
        second.join();
        if (taken.get() == 2) {
            System.out.println("2 taken");
        }
    }
}
