// Collections.synchronizedSet(…).addAll(other): the wrapper locks itself and not the other one.
//
// Meant to be atomic: SynchronizedCollection.addAll. It locks its own collection throughout. The
// argument has a lock of its own, which nobody takes while its elements are walked through. A
// change in between is noticed, if at all, by an exception:
//
//   reader  has locked its own collection and taken one element of the other
//   writer  adds an element to the other
//   reader  finds the modification count changed and throws
//
// expect: violation Collections$SynchronizedCollection.addAll
// also:   violation Collections$SynchronizedCollection.add
// whole:  done
// torn:   broken: ConcurrentModificationException
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.HashSet;
import java.util.Set;

public class SynchronizedSetAddAll {
    public static void main(String[] args) throws InterruptedException {
        var own = Collections.synchronizedSet(new HashSet<Integer>());
        var other = Collections.synchronizedSet(new HashSet<>(Set.of(1, 2)));
        var reader = new Thread(() -> read(own, other), "reader");
        var writer = new Thread(() -> other.add(3), "writer");
        reader.start();
        writer.start();
        reader.join();
        writer.join();
    }

    static void read(Set<Integer> own, Set<Integer> other) {
        try {
            own.addAll(other);
            System.out.println("done");
        } catch (ConcurrentModificationException e) {
            System.out.println("broken: ConcurrentModificationException");
        }
    }
}
