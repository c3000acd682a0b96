// The views of AddOnce, which lock the Vector that they share.
//
// Meant to be atomic: AddOnceFixed.addOnce, and it is: a Vector locks itself, so who locks it joins its calls.
//
// expect: serializable
import java.util.Vector;

public class AddOnceFixed {
    private final Vector<String> shared;

    AddOnceFixed(Vector<String> shared) {
        this.shared = shared;
    }

    boolean addOnce(String element) {
        synchronized (shared) {
            if (shared.contains(element)) {
                return false;
            }
            shared.add(element);
            return true;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var shared = new Vector<String>();
        var alice = new Thread(() -> new AddOnceFixed(shared).addOnce("ant"), "Alice");
        var bob = new Thread(() -> new AddOnceFixed(shared).addOnce("ant"), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println(shared.size() == 1 ? "1 element" : shared.size() + " elements");
    }
}
