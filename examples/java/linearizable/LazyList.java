// A sorted list with a lock for each node (the lazy list), which loses an element.
//
// Meant to be atomic: every operation. add finds the node before the new one without a lock, locks it, and looks whether
// the two are still neighbours. It forgets to look whether that node was removed meanwhile: then the new element hangs on a
// node that nobody reaches any more. LazyListFixed looks at the mark.
// operations: add, remove, contains
// expect: not linearizable
import java.util.concurrent.locks.ReentrantLock;

public class LazyList {
    private static final class Node {
        final int key;
        final ReentrantLock lock = new ReentrantLock();
        volatile Node next;
        volatile boolean marked;

        Node(int key, Node next) {
            this.key = key;
            this.next = next;
        }
    }

    private final Node head = new Node(Integer.MIN_VALUE, new Node(Integer.MAX_VALUE, null));

    private static boolean validate(Node before, Node current) {
        return before.next == current;
    }

    public boolean add(int key) {
        while (true) {
            Node before = before(key);
            Node current = before.next;
            before.lock.lock();
            try {
                if (current.key < key || !validate(before, current)) continue;
                if (current.key == key) return false;
                before.next = new Node(key, current);
                return true;
            } finally {
                before.lock.unlock();
            }
        }
    }

    public boolean remove(int key) {
        while (true) {
            Node before = before(key);
            Node current = before.next;
            before.lock.lock();
            try {
                if (current.key < key || !validate(before, current)) continue;
                if (current.key != key) return false;
                current.lock.lock();
                try {
                    current.marked = true;
                    before.next = current.next;
                    return true;
                } finally {
                    current.lock.unlock();
                }
            } finally {
                before.lock.unlock();
            }
        }
    }

    public boolean contains(int key) {
        Node current = head;
        while (current.key < key) current = current.next;
        return current.key == key && !current.marked;
    }

    private Node before(int key) {
        Node before = head;
        for (Node next = before.next; next.key < key; next = next.next) before = next;
        return before;
    }
}
