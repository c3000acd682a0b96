// Collections.synchronizedMap(…).putAll(other): the wrapper locks itself and not the other one.
//
// Meant to be atomic: SynchronizedMap.putAll. It locks its own collection throughout. The argument
// has a lock of its own, which nobody takes while its elements are walked through. A change in
// between is noticed, if at all, by an exception:
//
//   reader  has locked its own collection and taken one element of the other
//   writer  adds an element to the other
//   reader  finds the modification count changed and throws
//
// expect: violation Collections$SynchronizedMap.putAll
// also:   violation Collections$SynchronizedMap.put
// whole:  done
// torn:   broken: ConcurrentModificationException
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.Map;

public class SynchronizedMapPutAll {
    public static void main(String[] args) throws InterruptedException {
        var own = Collections.synchronizedMap(new HashMap<String, Integer>());
        var other = Collections.synchronizedMap(new HashMap<>(Map.of("p", 1, "q", 2)));
        var reader = new Thread(() -> read(own, other), "reader");
        var writer = new Thread(() -> other.put("r", 3), "writer");
        reader.start();
        writer.start();
        reader.join();
        writer.join();
    }

    static void read(Map<String, Integer> own, Map<String, Integer> other) {
        try {
            own.putAll(other);
            System.out.println("done");
        } catch (ConcurrentModificationException e) {
            System.out.println("broken: ConcurrentModificationException");
        }
    }
}
