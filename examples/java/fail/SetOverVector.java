// A set built on a Vector. Each call of the Vector is atomic; the two calls together are not.
//
// Meant to be atomic: VectorSet.add. Both threads find the element missing, both add it:
//
//   Alice  SetOverVector.java:32  contains("ant") is false
//   Bob    SetOverVector.java:32  contains("ant") is false
//   Bob    SetOverVector.java:35  adds "ant"
//   Alice  SetOverVector.java:35  adds "ant" again: the set holds it twice
//
// expect: violation VectorSet.add
// whole:  1 element
// torn:   2 elements: [ant, ant]
import java.util.Vector;

public class SetOverVector {
    public static void main(String[] args) throws InterruptedException {
        var set = new VectorSet<String>();
        var alice = new Thread(() -> set.add("ant"), "Alice");
        var bob = new Thread(() -> set.add("ant"), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println(set.size() == 1 ? "1 element" : set.size() + " elements: " + set);
    }
}

class VectorSet<E> {
    private final Vector<E> elements = new Vector<>();

    boolean add(E element) {
        if (elements.contains(element)) {
            return false;
        }
        elements.add(element);
        return true;
    }

    int size() {
        return elements.size();
    }

    @Override
    public String toString() {
        return elements.toString();
    }
}
