/** What one event of each kind costs: loops that do nothing else. Prints nanoseconds of processor time an event. */
public class Accesses {
    int field;
    static int global;
    volatile int shared;
    static final int[] ARRAY = new int[1024];

    interface Loop {
        void run(int n);
    }

    public static void main(String[] args) {
        int n = Integer.parseInt(args[0]);
        var object = new Accesses();
        measure("field", n, object::fields);
        measure("static field", n, Accesses::globals);
        measure("array element", n, Accesses::elements);
        measure("volatile field", n, object::volatiles);
        measure("synchronized statement", n / 4, object::monitors);
    }

    /** The processor time of this thread: neither the clock of the program nor the thread that writes counts. */
    static long now() {
        return ((com.sun.management.ThreadMXBean) java.lang.management.ManagementFactory.getThreadMXBean())
                .getCurrentThreadCpuTime();
    }

    static void measure(String what, int n, Loop loop) {
        double best = Double.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            long start = now();
            loop.run(n);
            best = Math.min(best, (double) (now() - start) / n);
        }
        System.out.println(what + "\t" + best);
    }

    void fields(int n) {
        for (int i = 0; i < n; i += 4) {
            field = i;
            field = i + 1;
            field = i + 2;
            field = i + 3;
        }
    }

    static void globals(int n) {
        for (int i = 0; i < n; i += 4) {
            global = i;
            global = i + 1;
            global = i + 2;
            global = i + 3;
        }
    }

    static void elements(int n) {
        int[] array = ARRAY;
        for (int i = 0; i < n; i += 4) {
            array[i & 1023] = i;
            array[i + 1 & 1023] = i;
            array[i + 2 & 1023] = i;
            array[i + 3 & 1023] = i;
        }
    }

    void volatiles(int n) {
        for (int i = 0; i < n; i += 4) {
            shared = i;
            shared = i + 1;
            shared = i + 2;
            shared = i + 3;
        }
    }

    void monitors(int n) {
        for (int i = 0; i < n; i++) {
            synchronized (this) {
                // Nothing: the monitor itself is measured.
            }
        }
    }
}
