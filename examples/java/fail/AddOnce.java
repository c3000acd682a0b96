// Two views of one Vector, each with a synchronized method that adds an element once. They lock themselves, and not the
// Vector that they share.
//
// Meant to be atomic: AddOnce.addOnce, and declared to be so by `synchronized`:
//
//   Alice  contains("ant") is false
//   Bob    contains("ant") is false, adds it
//   Alice  adds it again
//
// expect: violation AddOnce.addOnce
// whole:  1 element
// torn:   2 elements
import java.util.Vector;

public class AddOnce {
    private final Vector<String> shared;

    AddOnce(Vector<String> shared) {
        this.shared = shared;
    }

    synchronized boolean addOnce(String element) {
        if (shared.contains(element)) {
            return false;
        }
        shared.add(element);
        return true;
    }

    public static void main(String[] args) throws InterruptedException {
        var shared = new Vector<String>();
        var alice = new Thread(() -> new AddOnce(shared).addOnce("ant"), "Alice");
        var bob = new Thread(() -> new AddOnce(shared).addOnce("ant"), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println(shared.size() == 1 ? "1 element" : shared.size() + " elements");
    }
}
