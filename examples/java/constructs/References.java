// Weak and soft references, a weak map, a queue of cleared references, and random numbers of the operating system.
//
// References are cleared when the program asks for a collection, and not before: then it does not matter when the
// collector runs. What is still in use stays.
//
// expect: output
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.UUID;
import java.util.WeakHashMap;

public class References {
    static final byte[] drawn = new byte[16];

    public static void main(String[] args) throws Exception {
        var kept = new Object();
        var strong = new WeakReference<>(kept);
        var queue = new ReferenceQueue<Object>();
        var weak = new WeakReference<Object>(new Object(), queue);
        var soft = new SoftReference<>(new Object());
        var map = new WeakHashMap<Object, String>();
        map.put(new Object(), "dropped");
        map.put(kept, "kept");
        System.gc();
        System.out.println("weak is cleared: " + (weak.get() == null));
        System.out.println("soft is cleared: " + (soft.get() == null));
        System.out.println("what is in use is cleared: " + (strong.get() == null));
        System.out.println("in the queue: " + (queue.remove(10_000) == weak));
        while (map.size() > 1) {
            Thread.sleep(1);
        }
        System.out.println("map: " + map.values());
        Reference.reachabilityFence(kept);
        draw();
    }

    /** The numbers go through an array, so that a replay notices when they are not the same. */
    static void draw() throws Exception {
        var thread = new Thread(() -> new SecureRandom().nextBytes(drawn));
        thread.start();
        thread.join();
        var again = new byte[drawn.length];
        SecureRandom.getInstance("SHA1PRNG").nextBytes(again);
        for (int at = 0; at < again.length; at++) {
            drawn[at] ^= again[at];
        }
        System.out.println("other numbers: " + !Arrays.equals(drawn, again));
        System.out.println("other names: " + !UUID.randomUUID().equals(UUID.randomUUID()));
    }
}
