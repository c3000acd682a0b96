// Collections.synchronizedList(…).containsAll(other): the wrapper locks itself and not the other one.
//
// Meant to be atomic: SynchronizedCollection.containsAll. It locks its own collection throughout.
// The argument has a lock of its own, which nobody takes while its elements are walked through. A
// change in between is noticed, if at all, by an exception:
//
//   reader  has locked its own collection and taken one element of the other
//   writer  adds an element to the other
//   reader  finds the modification count changed and throws
//
// expect: violation Collections$SynchronizedCollection.containsAll
// also:   violation Collections$SynchronizedCollection.add
// whole:  done
// torn:   broken: ConcurrentModificationException
import java.util.ArrayList;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.List;

public class SynchronizedListContainsAll {
    public static void main(String[] args) throws InterruptedException {
        var own = Collections.synchronizedList(new ArrayList<>(List.of(1, 2, 3)));
        var other = Collections.synchronizedList(new ArrayList<>(List.of(1, 2)));
        var reader = new Thread(() -> read(own, other), "reader");
        var writer = new Thread(() -> other.add(3), "writer");
        reader.start();
        writer.start();
        reader.join();
        writer.join();
    }

    static void read(List<Integer> own, List<Integer> other) {
        try {
            own.containsAll(other);
            System.out.println("done");
        } catch (ConcurrentModificationException e) {
            System.out.println("broken: ConcurrentModificationException");
        }
    }
}
