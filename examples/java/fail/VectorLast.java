// The last element of a Vector, asked for in two steps.
//
// Meant to be atomic: Pile.top. The size is right when it is read, and too large when it is used:
//
//   Alice  VectorLast.java:43  size() is 1
//   Bob    VectorLast.java:39  removes the only element
//   Alice  VectorLast.java:44  get(0) throws ArrayIndexOutOfBoundsException
//
// The exception is the visible effect: Alice dies of it, with a stack trace on the standard error.
//
// expect: violation Pile.top
// whole:  done
// torn:   done
// stderr: Exception in thread "Alice" java.lang.ArrayIndexOutOfBoundsException
import java.util.Vector;

public class VectorLast {
    public static void main(String[] args) throws InterruptedException {
        var pile = new Pile();
        pile.put("book");
        var alice = new Thread(pile::top, "Alice");
        var bob = new Thread(pile::clear, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("done");
    }
}

class Pile {
    private final Vector<String> things = new Vector<>();

    void put(String thing) {
        things.add(thing);
    }

    void clear() {
        things.clear();
    }

    String top() {
        int size = things.size();
        return size == 0 ? "nothing" : things.get(size - 1);
    }
}
