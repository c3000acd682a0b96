// What the JVM tells of itself and no two runs agree on: the order of methods, free memory, identities of objects.
//
// All of it goes through an array, so that a replay notices when it is not the same.
//
// expect: output
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadPoolExecutor;
import javax.management.ObjectName;

public class Surroundings {
    static final long[] seen = new long[400];
    static int count;

    public static void main(String[] args) throws Exception {
        for (var type : new Class<?>[] {Surroundings.class, ConcurrentHashMap.class, ThreadPoolExecutor.class, ObjectName.class}) {
            for (var method : type.getDeclaredMethods()) {
                see(method.getName().hashCode());
            }
            see(System.identityHashCode(new Object()));
        }
        var runtime = Runtime.getRuntime();
        see(runtime.freeMemory());
        see(runtime.totalMemory());
        System.out.println("free memory fits: " + (runtime.freeMemory() <= runtime.totalMemory()));
        System.out.println("total memory fits: " + (runtime.totalMemory() <= runtime.maxMemory()));
        var other = new Thread(() -> see(System.identityHashCode(new Object())));
        other.start();
        other.join();
        System.out.println("seen: " + (count > 100));
    }

    static synchronized void see(long value) {
        seen[count++ % seen.length] = value;
    }

    void zebra() {}

    void monkey() {}

    void lion() {}

    void antelope() {}
}
