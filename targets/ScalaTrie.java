// Scala 2.13.14: four threads fill a concurrent map without locks, take snapshots of it, and futures add up what is there.
//
// maven: org.scala-lang:scala-library:2.13.14
// expect: output
import scala.collection.concurrent.TrieMap;
import scala.concurrent.Await;
import scala.concurrent.ExecutionContext;
import scala.concurrent.Future;
import scala.concurrent.duration.Duration;

public class ScalaTrie {
    static final int THREADS = 4;
    static final int KEYS = 120;

    public static void main(String[] args) throws Exception {
        var map = new TrieMap<Integer, Integer>();
        var threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> fill(map, own), "user " + number);
            threads[number].start();
        }
        for (var thread : threads) {
            thread.join();
        }
        var frozen = map.readOnlySnapshot();
        var global = ExecutionContext.global();
        Future<Integer> even = Future.apply(() -> sum(frozen, 0), global);
        Future<Integer> odd = Future.apply(() -> sum(frozen, 1), global);
        Integer sum = Await.result(even, Duration.Inf()) + Await.result(odd, Duration.Inf());
        System.out.println("entries: " + map.size() + ", sum: " + sum);
    }

    static void fill(TrieMap<Integer, Integer> map, int own) {
        for (int turn = 0; turn < KEYS; turn++) {
            int key = (turn + 30 * own) % KEYS;
            map.putIfAbsent(key, key * key);
            if (turn % 40 == 0) {
                map.snapshot().remove(key);
            }
        }
    }

    static int sum(scala.collection.Map<Integer, Integer> map, int rest) {
        int sum = 0;
        for (int key = rest; key < KEYS; key += 2) {
            sum += map.apply(key);
        }
        return sum;
    }
}
