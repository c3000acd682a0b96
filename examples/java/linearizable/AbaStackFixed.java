// The stack of AbaStack, which counts changes of the top.
// operations: push, pop
// expect: linearizable
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicStampedReference;

public class AbaStackFixed {
    private static final class Node {
        volatile int value;
        volatile Node below;
    }

    private final AtomicStampedReference<Node> top = new AtomicStampedReference<>(null, 0);
    private final ArrayDeque<Node> unused = new ArrayDeque<>();

    public void push(int value) {
        Node node = take();
        node.value = value;
        int[] stamp = new int[1];
        do {
            node.below = top.get(stamp);
        } while (!top.compareAndSet(node.below, node, stamp[0], stamp[0] + 1));
    }

    public Integer pop() {
        int[] stamp = new int[1];
        while (true) {
            Node node = top.get(stamp);
            if (node == null) return null;
            Node below = node.below;
            int value = node.value;
            if (top.compareAndSet(node, below, stamp[0], stamp[0] + 1)) {
                give(node);
                return value;
            }
        }
    }

    private synchronized Node take() {
        return unused.isEmpty() ? new Node() : unused.removeFirst();
    }

    private synchronized void give(Node node) {
        unused.addLast(node);
    }
}
