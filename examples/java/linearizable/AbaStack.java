// A lock-free stack that uses its nodes again, and so has the ABA problem.
//
// Meant to be atomic: every operation. pop reads the top and the node below, and makes that one the top if the top is
// still the same. If the top was popped meanwhile, its neighbour as well, and the first node pushed again, then the top is
// the same node, but the one below is no longer in the stack. AbaStackFixed counts changes of the top.
// operations: push, pop
// expect: not linearizable
import java.util.ArrayDeque;
import java.util.concurrent.atomic.AtomicReference;

public class AbaStack {
    private static final class Node {
        volatile int value;
        volatile Node below;
    }

    private final AtomicReference<Node> top = new AtomicReference<>();
    /** The node that was popped first is used first. */
    private final ArrayDeque<Node> unused = new ArrayDeque<>();

    public void push(int value) {
        Node node = take();
        node.value = value;
        do {
            node.below = top.get();
        } while (!top.compareAndSet(node.below, node));
    }

    public Integer pop() {
        while (true) {
            Node node = top.get();
            if (node == null) return null;
            Node below = node.below;
            int value = node.value;
            if (top.compareAndSet(node, below)) {
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
