// Caffeine 3.1.8: four threads read and write a bounded cache, which evicts in a pool of its own.
//
// How often a value is loaded depends on the schedule and is not printed; that everybody gets the right value does not.
//
// maven: com.github.ben-manes.caffeine:caffeine:3.1.8
// expect: output
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

public class CaffeineCache {
    static final int THREADS = 4;
    static final int TURNS = 1500;

    public static void main(String[] args) throws Exception {
        var pool = Executors.newFixedThreadPool(2);
        LoadingCache<Integer, Long> cache = Caffeine.newBuilder().maximumSize(50).executor(pool).recordStats().build(CaffeineCache::square);
        var sums = new long[THREADS];
        var threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> sums[own] = use(cache, own), "user " + number);
            threads[number].start();
        }
        for (int number = 0; number < THREADS; number++) {
            threads[number].join();
            System.out.println("user " + number + ": " + sums[number]);
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        cache.cleanUp();
        System.out.println("within bounds: " + (cache.estimatedSize() <= 50) + ", requests: " + cache.stats().requestCount());
    }

    static long use(LoadingCache<Integer, Long> cache, int own) {
        long sum = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            int key = (turn * 7 + own) % 80;
            sum += cache.get(key);
            if (turn % 10 == 0) {
                cache.put(key, square(key));
            }
            if (turn % 15 == 0) {
                cache.invalidate((key + 1) % 80);
            }
        }
        return sum;
    }

    static long square(int key) {
        return (long) key * key;
    }
}
