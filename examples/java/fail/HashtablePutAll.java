// Hashtable.putAll(other) copies a table that changes under its hands.
//
// Meant to be atomic: Hashtable.putAll, a synchronized method. It locks its own table throughout and
// the other one not at all while it walks through its entries. A put into the other table between two
// steps of the walk is noticed, if at all, by an exception in the thread that copies (lines of
// java.util.Hashtable in JDK 17.0.15):
//
//   copier  Hashtable.java:539        has locked its own table and made an iterator over the other
//   writer  HashtablePutAll.java:24   puts a third entry into the other table
//   copier  Hashtable.java:1499       finds the modification count changed and throws
//
// expect: violation Hashtable.putAll
// also:   violation Hashtable.put
// whole:  copied
// torn:   broken: ConcurrentModificationException
import java.util.ConcurrentModificationException;
import java.util.Hashtable;
import java.util.Map;

public class HashtablePutAll {
    public static void main(String[] args) throws InterruptedException {
        var source = new Hashtable<>(Map.of("p", 1, "q", 2));
        var copier = new Thread(() -> copy(source), "copier");
        var writer = new Thread(() -> source.put("r", 3), "writer");
        copier.start();
        writer.start();
        copier.join();
        writer.join();
    }

    static void copy(Hashtable<String, Integer> source) {
        try {
            new Hashtable<String, Integer>().putAll(source);
            System.out.println("copied");
        } catch (ConcurrentModificationException e) {
            System.out.println("broken: ConcurrentModificationException");
        }
    }
}
