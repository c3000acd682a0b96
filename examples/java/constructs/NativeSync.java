// The synchronised classes of the library, used by many threads: println, synchronized wrappers,
// Hashtable, Properties.
//
// All threads print the same line, so the order does not show, but a torn line would.
//
// expect: output
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.Properties;
import java.util.TreeMap;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;

public class NativeSync {
    static final int THREADS = 4;
    static final int TIMES = 25;

    interface Work {
        void run(int thread, int round);
    }

    static void everybody(Work work) throws InterruptedException {
        var threads = new Thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            int me = t;
            threads[t] = new Thread(() -> {
                for (int round = 0; round < TIMES; round++) {
                    work.run(me, round);
                }
            }, "worker-" + t);
            threads[t].start();
        }
        for (var thread : threads) {
            thread.join();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        everybody((thread, round) -> {
            if (round % 5 == 0) {
                System.out.println("the same line from everybody");
            }
        });

        var map = Collections.synchronizedMap(new HashMap<Integer, Integer>());
        everybody((thread, round) -> map.merge(round % 3, 1, Integer::sum));
        System.out.println("synchronized map " + new TreeMap<>(map));

        var list = Collections.synchronizedList(new ArrayList<Integer>());
        everybody((thread, round) -> list.add(round));
        int sum = list.stream().mapToInt(i -> i).sum();
        System.out.println("synchronized list " + list.size() + ", sum " + sum);

        var table = new Hashtable<String, Integer>();
        everybody((thread, round) ->
                table.compute("key " + thread % 2, (key, old) -> old == null ? 1 : old + 1));
        System.out.println("hash table " + new TreeMap<>(table));

        var properties = new Properties();
        everybody((thread, round) -> properties.setProperty("thread " + thread, "round " + round));
        System.out.println("properties " + new TreeMap<>(properties));

        var vector = new Vector<Integer>();
        everybody((thread, round) -> vector.add(thread));
        System.out.println("vector " + vector.size());

        var concurrent = new ConcurrentHashMap<String, Integer>();
        everybody((thread, round) -> concurrent.merge("sum", round, Integer::sum));
        System.out.println("concurrent map " + concurrent);

        var buffer = new StringBuffer();
        everybody((thread, round) -> buffer.append("abc"));
        System.out.println("buffer " + buffer.toString().equals("abc".repeat(THREADS * TIMES)));
    }
}
