// Vector.equals(other) says that two vectors are equal which never were.
//
// Meant to be atomic: Vector.equals, a synchronized method. It locks its own vector throughout, the
// other one only for a single element at a time. `wanted` is [a, b] all the time; `given` goes from
// [a, x] by way of [x, x] to [x, b] and is never equal to it (see VectorContainsAll):
//
//   asker   compares "a" of [a, x]
//   writer  VectorEquals.java:41  writes given[0] = "x"
//   writer  VectorEquals.java:42  writes given[1] = "b"
//   asker   compares "b" of [x, b]: equal
//
// expect: violation Vector.equals
// also:   violation AbstractList.equals
// also:   violation Order.change
// whole:  different
// torn:   equal, which they never were
import java.util.List;
import java.util.Vector;

public class VectorEquals {
    public static void main(String[] args) throws InterruptedException {
        var order = new Order();
        var asker = new Thread(() -> System.out.println(order.describe()), "asker");
        var writer = new Thread(order::change, "writer");
        asker.start();
        writer.start();
        asker.join();
        writer.join();
    }
}

class Order {
    private final Vector<String> wanted = new Vector<>(List.of("a", "b"));
    private final Vector<String> given = new Vector<>(List.of("a", "x"));

    String describe() {
        return wanted.equals(given) ? "equal, which they never were" : "different";
    }

    void change() {
        given.set(0, "x");
        given.set(1, "b");
    }
}
