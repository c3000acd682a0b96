// The set of SetOverVector, locking its Vector across both calls.
//
// Meant to be atomic: VectorSet.add, and it is: a Vector locks itself, so a client that locks the
// same object joins its calls into one step.
//
// expect: serializable
import java.util.Vector;

public class SetOverVectorFixed {
    public static void main(String[] args) throws InterruptedException {
        var set = new VectorSet<String>();
        var alice = new Thread(() -> set.add("ant"), "Alice");
        var bob = new Thread(() -> set.add("ant"), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("set " + set);
    }
}

class VectorSet<E> {
    private final Vector<E> elements = new Vector<>();

    boolean add(E element) {
        synchronized (elements) {
            if (elements.contains(element)) {
                return false;
            }
            elements.add(element);
            return true;
        }
    }

    @Override
    public String toString() {
        return elements.toString();
    }
}
