// Several threads need several classes at once: each class is initialised once, and nobody sees it
// half done.
//
// The initialisers depend on each other without a circle: Top needs Left and Right, both need
// Bottom.
//
// expect: output
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;

public class ClassLoading {
    static final int THREADS = 4;
    static final Map<String, Integer> initialised = Collections.synchronizedMap(new TreeMap<>());

    static int note(String name, int value) {
        initialised.merge(name, 1, Integer::sum);
        return value;
    }

    static class Bottom {
        static final int VALUE = note("Bottom", 1);
        static int[] table = new int[10];

        static {
            for (int i = 0; i < table.length; i++) {
                table[i] = VALUE + i;
            }
        }
    }

    static class Left {
        static final int VALUE = note("Left", Bottom.VALUE + 10);
    }

    static class Right {
        static final int VALUE = note("Right", Bottom.table[9] + 100);
    }

    static class Top {
        static final int VALUE = note("Top", Left.VALUE + Right.VALUE);
    }

    static class Parent {
        static final int VALUE = note("Parent", 5);
    }

    static class Child extends Parent {
        static final int OWN = note("Child", VALUE * 2);
    }

    /** Naming a constant, or an array of the class, does not initialise it. */
    static class Unused {
        static final int CONSTANT = 3;
        static final int VALUE = note("Unused", 0);
    }

    public static void main(String[] args) throws InterruptedException {
        var start = new CountDownLatch(1);
        var seen = new int[THREADS];
        var threads = new Thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            int me = t;
            threads[t] = new Thread(() -> {
                try {
                    start.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                seen[me] = use(me);
            }, "user-" + t);
            threads[t].start();
        }
        start.countDown();
        for (var thread : threads) {
            thread.join();
        }
        for (int value : seen) {
            System.out.println("seen " + value);
        }
        System.out.println("unused " + Unused.CONSTANT + " " + new Unused[2].length);
        System.out.println("initialised " + initialised);
    }

    /** Each thread begins with another class, and all end with the same sum. */
    static int use(int thread) {
        int first = thread == 0 ? Top.VALUE
                : thread == 1 ? Left.VALUE
                : thread == 2 ? Right.VALUE
                : Child.OWN;
        int all = Top.VALUE + Left.VALUE + Right.VALUE + Bottom.VALUE + Child.OWN;
        return first > 0 ? all : -1;
    }
}
