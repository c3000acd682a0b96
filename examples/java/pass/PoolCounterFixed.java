// The pool of PoolCounter, with one lock around its counter and its list.
//
// Meant to be atomic: PoolCounterFixed.give and PoolCounterFixed.take, and they are: they hold the lock of the pool.
//
// expect: serializable
import java.util.ArrayList;
import java.util.List;

public class PoolCounterFixed {
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

    private synchronized void give(String item) {
        free.add(1);
        items.add(item);
    }

    private synchronized void take() {
        if (free.value() > 0) {
            isMissing = items.removeLast() == null;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var pool = new PoolCounterFixed();
        var giver = new Thread(() -> pool.give("connection"), "giver");
        var taker = new Thread(pool::take, "taker");
        giver.start();
        taker.start();
        giver.join();
        taker.join();
        System.out.println(pool.isMissing ? "counted, but not there" : "taken or none free");
    }
}
