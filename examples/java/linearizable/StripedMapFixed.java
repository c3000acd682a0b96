// The map of StripedMap, whose size holds both locks.
// operations: put, remove, size
// expect: linearizable
import java.util.HashMap;

public class StripedMapFixed {
    private final Half[] halves = {new Half(), new Half()};

    private static final class Half {
        final HashMap<Integer, Integer> map = new HashMap<>();
    }

    private Half half(int key) {
        return halves[key & 1];
    }

    public Integer put(int key, int value) {
        Half half = half(key);
        synchronized (half) {
            return half.map.put(key, value);
        }
    }

    public Integer remove(int key) {
        Half half = half(key);
        synchronized (half) {
            return half.map.remove(key);
        }
    }

    public int size() {
        synchronized (halves[0]) {
            synchronized (halves[1]) {
                return halves[0].map.size() + halves[1].map.size();
            }
        }
    }
}
