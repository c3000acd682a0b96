// ICFinder's Listing 8, bug 53498 of Tomcat: an attribute is looked for and then removed. Between the
// calls another thread can remove it.
// expect: use Context.removeAttribute Map.containsKey Map.remove
// The same under the lock that everybody takes who changes the map is one step:
// expect: none GuardedContext.removeAttribute Map.containsKey Map.remove
// One call that does both is one step by itself:
// expect: none Context.removeAtOnce Map.remove Map.containsKey
// An object that never leaves the method is nobody else's:
// expect: none Context.count Map.containsKey Map.put
// output: any
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

class Context {
    private final Map<String, Object> attributes = new ConcurrentHashMap<>();

    void setAttribute(String name, Object value) {
        attributes.put(name, value);
    }

    Object removeAttribute(String name) {
        Object value = null;
        boolean found = attributes.containsKey(name);
        if (found) {
            value = attributes.remove(name);
            System.out.println(value.toString());
        }
        return value;
    }

    Object removeAtOnce(String name) {
        return attributes.remove(name);
    }

    int count(String[] names) {
        Map<String, Object> seen = new ConcurrentHashMap<>();
        for (String name : names) {
            if (!seen.containsKey(name)) {
                seen.put(name, name);
            }
        }
        return seen.size();
    }
}

class GuardedContext {
    private final Map<String, Object> attributes = new ConcurrentHashMap<>();
    private final Object lock = new Object();

    void setAttribute(String name, Object value) {
        synchronized (lock) {
            attributes.put(name, value);
        }
    }

    void removeAttribute(String name) {
        synchronized (lock) {
            if (attributes.containsKey(name)) {
                attributes.remove(name);
            }
        }
    }
}

public class Attributes {
    public static void main(String[] args) {
        Context context = new Context();
        GuardedContext guarded = new GuardedContext();
        context.setAttribute("a", 1);
        guarded.setAttribute("a", 1);
        new Thread(() -> context.removeAttribute("a")).start();
        context.removeAttribute("a");
        context.removeAtOnce("a");
        guarded.removeAttribute("a");
        System.out.println(context.count(args));
    }
}
