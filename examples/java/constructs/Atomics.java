// Atomic variables, their arrays, field updaters, adders and variable handles: one update is never torn.
//
// expect: output
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.atomic.AtomicStampedReference;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

public class Atomics {
    static final int THREADS = 3;
    static final int ROUNDS = 40;

    volatile int count;
    volatile long total;
    volatile String word = "";
    int[] row = new int[2];
    static int shared;

    static final AtomicIntegerFieldUpdater<Atomics> COUNT =
            AtomicIntegerFieldUpdater.newUpdater(Atomics.class, "count");
    static final AtomicLongFieldUpdater<Atomics> TOTAL =
            AtomicLongFieldUpdater.newUpdater(Atomics.class, "total");
    static final AtomicReferenceFieldUpdater<Atomics, String> WORD =
            AtomicReferenceFieldUpdater.newUpdater(Atomics.class, String.class, "word");
    static final VarHandle HANDLE;
    static final VarHandle SHARED;
    static final VarHandle ROW = MethodHandles.arrayElementVarHandle(int[].class);

    static {
        try {
            var lookup = MethodHandles.lookup();
            HANDLE = lookup.findVarHandle(Atomics.class, "count", int.class);
            SHARED = lookup.findStaticVarHandle(Atomics.class, "shared", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        scalars();
        arrays();
        updaters();
        handles();
        adders();
        subclass();
        refused();
    }

    static void together(Runnable body) throws InterruptedException {
        var threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    body.run();
                }
            }, "adder-" + i);
            threads[i].start();
        }
        for (var thread : threads) {
            thread.join();
        }
    }

    static void scalars() throws InterruptedException {
        var integer = new AtomicInteger(5);
        var number = new AtomicLong();
        var flag = new AtomicBoolean();
        var flips = new AtomicInteger();
        var list = new AtomicReference<Node>();
        together(() -> {
            integer.incrementAndGet();
            integer.updateAndGet(x -> x + 2);
            number.accumulateAndGet(3, Long::sum);
            if (flag.compareAndSet(false, true)) {
                flips.getAndIncrement();
                flag.set(false);
            }
            Node old;
            do {
                old = list.get();
            } while (!list.compareAndSet(old, new Node(old)));
        });
        System.out.println("integer " + integer + ", long " + number.get());
        System.out.println("flipped " + (flips.get() > 0) + ", flag " + flag.get());
        int length = 0;
        for (Node node = list.get(); node != null; node = node.next) {
            length++;
        }
        System.out.println("list " + length);
        var stamped = new AtomicStampedReference<>("a", 0);
        System.out.println("stamped " + stamped.compareAndSet("a", "b", 0, 1) + " "
                + stamped.compareAndSet("a", "c", 0, 2) + " " + stamped.getReference()
                + stamped.getStamp());
        System.out.println("witness " + integer.compareAndExchange(-1, 7) + " "
                + integer.compareAndExchange(365, 7) + " " + integer.get());
    }

    static final class Node {
        final Node next;

        Node(Node next) {
            this.next = next;
        }
    }

    static void arrays() throws InterruptedException {
        var cells = new AtomicIntegerArray(2);
        var names = new AtomicReferenceArray<String>(2);
        together(() -> {
            cells.incrementAndGet(0);
            cells.getAndUpdate(1, x -> x + 2);
            names.compareAndSet(0, null, "first");
        });
        System.out.println("cells " + cells + ", names " + names);
    }

    static void updaters() throws InterruptedException {
        var object = new Atomics();
        together(() -> {
            COUNT.incrementAndGet(object);
            TOTAL.addAndGet(object, 2);
            WORD.accumulateAndGet(object, "x", String::concat);
        });
        System.out.println("count " + object.count + ", total " + object.total + ", word of "
                + object.word.length());
    }

    static void handles() throws InterruptedException {
        var object = new Atomics();
        together(() -> {
            int unused = (int) HANDLE.getAndAdd(object, 1);
            int seen;
            do {
                seen = (int) SHARED.getVolatile();
            } while (!SHARED.compareAndSet(seen, seen + 1));
            unused += (int) ROW.getAndAdd(object.row, 1, 2);
        });
        HANDLE.setRelease(object, (int) HANDLE.getAcquire(object) + 1);
        System.out.println("handle " + object.count + ", static " + shared + ", element "
                + object.row[1]);
    }

    static void adders() throws InterruptedException {
        var sum = new LongAdder();
        var half = new DoubleAdder();
        var most = new LongAccumulator(Math::max, 0);
        together(() -> {
            sum.increment();
            sum.add(2);
            half.add(0.5);
            most.accumulate(sum.sum() > 0 ? 9 : 0);
        });
        System.out.println("adders " + sum.sumThenReset() + " " + sum.sum() + " " + half.sum() + " "
                + most.get());
    }

    static class Tally extends AtomicInteger {
        private static final long serialVersionUID = 1;

        int twice() {
            incrementAndGet();
            return incrementAndGet();
        }
    }

    static void subclass() throws InterruptedException {
        var tally = new Tally();
        together(tally::twice);
        together(tally::decrementAndGet);
        System.out.println("subclass " + tally.get());
    }

    static void refused() {
        try {
            new AtomicIntegerArray(1).getAndIncrement(1);
        } catch (IndexOutOfBoundsException e) {
            System.out.println("refused " + e.getMessage());
        }
        try {
            int unused = (int) HANDLE.getAndAdd((Atomics) null, 1);
        } catch (NullPointerException e) {
            System.out.println("refused null");
        }
    }
}
