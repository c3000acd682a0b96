// Vector.containsAll(other) gives an answer that was never true.
//
// Meant to be atomic: Vector.containsAll, a synchronized method. It locks its own vector
// throughout, the other one only for a single element at a time. Here `known` is [a, b] all the
// time, and `asked` goes from [a, x] by way of [x, x] to [x, b]: at no moment does it hold known
// elements only. But the first element of the first state and the second element of the last state
// are both known (lines of java.util.AbstractCollection in JDK 17.0.15):
//
//   asker   AbstractCollection.java:308  takes "a" from [a, x]
//   asker   AbstractCollection.java:309  known contains "a"
//   writer  VectorContainsAll.java:50    writes asked[0] = "x"
//   writer  VectorContainsAll.java:51    writes asked[1] = "b"
//   asker   AbstractCollection.java:308  takes "b" from [x, b]
//   asker   AbstractCollection.java:309  known contains "b": containsAll is true
//
// Vector.set is no structural change, so the iterator's modification count notices nothing. With
// add or remove in place of set the iterator would throw a ConcurrentModificationException. `new
// ArrayList<>(vector)` and `addAll(vector)` cannot be torn this way: both take one locked snapshot
// with toArray.
//
// expect: violation Vector.containsAll
// also:   violation AbstractCollection.containsAll
// also:   violation Vocabulary.rename
// whole:  not all known
// torn:   all known, which was never the case
import java.util.List;
import java.util.Vector;

public class VectorContainsAll {
    public static void main(String[] args) throws InterruptedException {
        var vocabulary = new Vocabulary();
        var asker = new Thread(() -> System.out.println(vocabulary.describe()), "asker");
        var writer = new Thread(vocabulary::rename, "writer");
        asker.start();
        writer.start();
        asker.join();
        writer.join();
    }
}

class Vocabulary {
    private final Vector<String> known = new Vector<>(List.of("a", "b"));
    private final Vector<String> asked = new Vector<>(List.of("a", "x"));

    String describe() {
        return known.containsAll(asked) ? "all known, which was never the case" : "not all known";
    }

    void rename() {
        asked.set(0, "x");
        asked.set(1, "b");
    }
}
