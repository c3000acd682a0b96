// Calls whose target is found by the class hierarchy: through an interface with type parameters (and
// the bridge methods that compilers make for them), through a default method, through a subclass of a
// collection; and calls that cannot be followed.
//
// expect: use Front.claim Registry.has Registry.put
// expect: use Claims.claim Map.containsKey Map.put
// expect: use Cache.load Cache.containsKey Cache.put
// Two objects of one class are two objects:
// expect: none Front.move Registry.has Registry.put
// A lambda is a method of its own:
// expect: use Lambdas.lambda$task$0 Map.containsKey Map.remove
// What is only asserted decides nothing:
// expect: none Checked.put Map.containsKey Map.put
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

interface Registry<K> {
    boolean has(K key);

    void put(K key);
}

class MapRegistry implements Registry<String> {
    private final Map<String, Boolean> names = new ConcurrentHashMap<>();

    @Override
    public boolean has(String key) {
        return names.containsKey(key);
    }

    @Override
    public void put(String key) {
        names.put(key, true);
    }
}

class Front {
    private final Registry<String> registry = new MapRegistry();
    private final Registry<String> other = new MapRegistry();

    void claim(String name) {
        if (!registry.has(name)) {
            registry.put(name);
        }
    }

    void move(String name) {
        if (registry.has(name)) {
            other.put(name);
        }
    }
}

interface Claims {
    Map<String, String> owners();

    default void claim(String name) {
        if (!owners().containsKey(name)) {
            owners().put(name, name);
        }
    }
}

class Owners implements Claims {
    private final Map<String, String> owners = new ConcurrentHashMap<>();

    @Override
    public Map<String, String> owners() {
        return owners;
    }
}

class Cache extends ConcurrentHashMap<String, String> {
    void load(String name) {
        if (!containsKey(name)) {
            put(name, name);
        }
    }
}

class Lambdas {
    private final Map<String, String> tasks = new ConcurrentHashMap<>();

    Runnable task(String name) {
        return () -> {
            if (tasks.containsKey(name)) {
                tasks.remove(name);
            }
        };
    }
}

class Checked {
    private final Map<String, String> names = new ConcurrentHashMap<>();

    void put(String name) {
        assert !names.containsKey(name);
        names.put(name, name);
    }
}

public class Dispatch {
    public static void main(String[] args) throws Exception {
        Front front = new Front();
        front.claim("a");
        front.move("a");
        new Owners().claim("a");
        new Cache().load("a");
        new Checked().put("a");
        new Thread(new Lambdas().task("a")).start();
        Class.forName("Dispatch").getMethod("toString").invoke(front);
    }
}
