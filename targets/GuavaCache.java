// Guava 33.0.0: four threads read a loading cache, put into it and invalidate entries, under a bound of its size.
//
// How often a value is loaded depends on the schedule and is not printed; that everybody gets the right value does not.
//
// maven: com.google.guava:guava:33.0.0-jre
// expect: output
import com.google.common.cache.CacheBuilder;
import com.google.common.cache.CacheLoader;
import com.google.common.cache.LoadingCache;
import com.google.common.collect.ConcurrentHashMultiset;

public class GuavaCache {
    static final int THREADS = 4;
    static final int TURNS = 1500;

    public static void main(String[] args) throws Exception {
        LoadingCache<Integer, Long> cache = CacheBuilder.newBuilder().maximumSize(50).recordStats()
                .build(CacheLoader.from(GuavaCache::square));
        var seen = ConcurrentHashMultiset.<Integer>create();
        var sums = new long[THREADS];
        var threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> sums[own] = use(cache, seen, own), "user " + number);
            threads[number].start();
        }
        for (int number = 0; number < THREADS; number++) {
            threads[number].join();
            System.out.println("user " + number + ": " + sums[number]);
        }
        cache.cleanUp();
        System.out.println("within bounds: " + (cache.size() <= 50) + ", counted: " + seen.size());
        var stats = cache.stats();
        System.out.println("requests: " + stats.requestCount());
    }

    static long use(LoadingCache<Integer, Long> cache, ConcurrentHashMultiset<Integer> seen, int own) {
        long sum = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            int key = (turn * 7 + own) % 80;
            sum += cache.getUnchecked(key);
            seen.add(key % 10);
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
