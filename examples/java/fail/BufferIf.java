// A bounded buffer that waits with `if` instead of `while`. Who is woken does not look again, and another consumer may
// have come first.
//
// Nothing is torn: waiting lets others run on purpose. But a consumer takes from an empty buffer, and throws.
//
// expect: failure java.util.NoSuchElementException
// whole:  2 taken
// stderr: Exception in thread
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicInteger;

public class BufferIf {
    private final ArrayDeque<String> items = new ArrayDeque<>();

    private synchronized void put(String item) {
        items.add(item);
        notifyAll();
    }

    private synchronized String take() throws InterruptedException {
        if (items.isEmpty()) {
            wait();
        }
        return items.remove();
    }

    public static void main(String[] args) throws InterruptedException {
        var buffer = new BufferIf();
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
