// A map with a lock for each half, whose size is torn.
//
// Meant to be atomic: every operation. put, get and remove hold the lock of their half. size adds up both halves, one
// after the other: if an element is removed from one and another put into the other meanwhile, it counts both, though
// they were never in the map together. StripedMapFixed locks both halves.
// operations: put, remove, size
// expect: not linearizable
import java.util.HashMap;

public class StripedMap {
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
        int size = 0;
        for (Half half : halves) {
            synchronized (half) {
                size += half.map.size();
            }
        }
        return size;
    }
}
