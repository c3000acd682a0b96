// A map of java.util.concurrent is asked for a key, then for its value, and then told to remove it: as a
// web server's context did for years (Tomcat's ApplicationContext.removeAttribute).
//
// Meant to be atomic: Attributes.remove. Each call of the map is safe; between them the other thread
// removes the same attribute, and the listener is told of a value that is not there:
//
//   slow   RemoveAttribute.java:41  there is such an attribute
//   quick  RemoveAttribute.java:45  removes it
//   slow   RemoveAttribute.java:44  gets null, and passes it on
// expect: violation Attributes.remove
// whole:  told of: 1
// torn:   told of nothing: NullPointerException
// or:     told of: 2
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public class RemoveAttribute {
    public static void main(String[] args) throws InterruptedException {
        var attributes = new Attributes();
        var slow = new Thread(attributes::close, "slow");
        var quick = new Thread(attributes::close, "quick");
        slow.start();
        quick.start();
        slow.join();
        quick.join();
        System.out.println(attributes.outcome());
    }
}

class Attributes {
    private final Map<String, String> values = new ConcurrentHashMap<>();
    private volatile int told;
    private volatile boolean broken;

    Attributes() {
        values.put("user", "alice");
    }

    /** Tells the listener what was removed. */
    void remove(String name) {
        if (!values.containsKey(name)) {
            return;
        }
        String value = values.get(name);
        values.remove(name);
        told += value.length() / 5;
    }

    void close() {
        try {
            remove("user");
        } catch (NullPointerException e) {
            broken = true;
        }
    }

    String outcome() {
        return broken ? "told of nothing: NullPointerException" : "told of: " + told;
    }
}
