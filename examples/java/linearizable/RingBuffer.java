// A ring buffer that readers and writers share, whose end is torn.
//
// Meant to be atomic: every operation. poll takes its element by compare-and-set of the head. offer writes into the slot at
// the end and moves the end afterwards: two of them may write into the same slot, and one element is lost.
// RingBufferFixed lets one writer in at a time.
// operations: offer, poll, size
// expect: not linearizable
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReferenceArray;

public class RingBuffer {
    private static final int CAPACITY = 4;

    private final AtomicReferenceArray<Integer> slots = new AtomicReferenceArray<>(CAPACITY);
    private final AtomicInteger head = new AtomicInteger();
    private volatile int tail;

    public boolean offer(int element) {
        int end = tail;
        if (end - head.get() >= CAPACITY) return false;
        slots.set(end % CAPACITY, element);
        tail = end + 1;
        return true;
    }

    public Integer poll() {
        while (true) {
            int first = head.get();
            if (first == tail) return null;
            Integer element = slots.get(first % CAPACITY);
            if (head.compareAndSet(first, first + 1)) return element;
        }
    }

    public int size() {
        while (true) {
            int first = head.get();
            int size = tail - first;
            if (head.get() == first) return size;
        }
    }
}
