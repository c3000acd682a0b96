// A pool counts its free items in one object and keeps them in another. Each of the two is safe; together they are not.
//
// Meant to be atomic: PoolCounter.give and PoolCounter.take. Who gives an item back counts it before it is in the list:
//
//   giver  counts one free item
//   taker  sees one free item, and takes it from the list: there is none
//   giver  adds it to the list
//
// expect: violation PoolCounter.give
// also:   violation PoolCounter.take
// whole:  taken or none free
// torn:   counted, but not there
import java.util.ArrayList;
import java.util.List;

public class PoolCounter {
    private static final class Count {
        private int value;

        synchronized void add(int more) {
            value += more;
        }

        synchronized int value() {
            return value;
        }
    }

    private static final class Items {
        private final List<String> items = new ArrayList<>();

        synchronized void add(String item) {
            items.add(item);
        }

        synchronized String removeLast() {
            return items.isEmpty() ? null : items.remove(items.size() - 1);
        }
    }

    private final Count free = new Count();
    private final Items items = new Items();
    private volatile boolean isMissing;

    private void give(String item) {
        free.add(1);
        items.add(item);
    }

    private void take() {
        if (free.value() > 0) {
            isMissing = items.removeLast() == null;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var pool = new PoolCounter();
        var giver = new Thread(() -> pool.give("connection"), "giver");
        var taker = new Thread(pool::take, "taker");
        giver.start();
        taker.start();
        giver.join();
        taker.join();
        System.out.println(pool.isMissing ? "counted, but not there" : "taken or none free");
    }
}
