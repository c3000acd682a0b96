// The counter of Counter, incremented by compare-and-set in a loop.
//
// Meant to be atomic: CasCounter.increment. Another thread may well write between the get and the
// compareAndSet; then the compareAndSet fails, and the attempt is repeated. Each increment takes
// effect in one instant, so this is correct, although the trace of a failed attempt is a cycle of
// conflicts: a read, a foreign write, a read.
//
// The argument is the number of increments of each thread, 100 by default.
//
// expect: serializable
import java.util.concurrent.atomic.AtomicInteger;

public class CounterCas {
    public static void main(String[] args) throws InterruptedException {
        int times = args.length > 0 ? Integer.parseInt(args[0]) : 100;
        var counter = new CasCounter();
        Runnable work = () -> {
            for (int i = 0; i < times; i++) {
                counter.increment();
            }
        };
        var alice = new Thread(work, "Alice");
        var bob = new Thread(work, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("value " + counter.get());
    }
}

class CasCounter {
    private final AtomicInteger value = new AtomicInteger();

    int increment() {
        while (true) {
            int seen = value.get();
            if (value.compareAndSet(seen, seen + 1)) {
                return seen + 1;
            }
        }
    }

    int get() {
        return value.get();
    }
}
