// The price of an option by simulation: many random paths of a share, split among threads.
//
// Meant to be atomic: Result.add, a synchronized method that keeps three sums in step. Everything
// else is private to a thread: each block of paths has a generator of its own, seeded by the number
// of the block and not by the thread that happens to run it. Payoffs are rounded to whole
// micro-units, and sums of integers do not depend on their order: the result is the same for every
// schedule.
//
// The argument is the number of paths in thousands, 20 by default; 15000 runs for seconds.
//
// expect: serializable
public class MonteCarlo {
    static final int THREADS = 4;
    static final int BLOCK = 1000;

    public static void main(String[] args) throws InterruptedException {
        int blocks = args.length > 0 ? Integer.parseInt(args[0]) : 20;
        var result = new Result();
        var workers = new Thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            int first = t;
            workers[t] = new Thread(() -> simulate(first, blocks, result), "worker-" + t);
            workers[t].start();
        }
        for (var worker : workers) {
            worker.join();
        }
        System.out.println(result);
    }

    /** Runs the blocks first, first + THREADS, first + 2 * THREADS and so on. */
    static void simulate(int first, int blocks, Result result) {
        for (int block = first; block < blocks; block += THREADS) {
            var random = new Lcg(block);
            long sum = 0;
            int hits = 0;
            for (int i = 0; i < BLOCK; i++) {
                double price = finalPrice(random);
                if (price > 105) {
                    sum += Math.round((price - 105) * 1_000_000);
                    hits++;
                }
            }
            result.add(BLOCK, hits, sum);
        }
    }

    /** A share at 100 that goes up or down by one percent on each of 64 days. */
    static double finalPrice(Lcg random) {
        long days = random.next64();
        double price = 100;
        for (int day = 0; day < 64; day++) {
            price *= (days >>> day & 1) == 0 ? 0.99 : 1.01;
        }
        return price;
    }
}

/** A linear congruential generator; its high bits are the good ones. */
class Lcg {
    private long state;

    Lcg(long seed) {
        state = seed * 0x9E3779B97F4A7C15L + 1;
        next32();
    }

    private long next32() {
        state = state * 6364136223846793005L + 1442695040888963407L;
        return state >>> 32;
    }

    long next64() {
        return next32() << 32 | next32();
    }
}

class Result {
    private long paths;
    private long hits;
    private long sum;

    synchronized void add(long paths, long hits, long sum) {
        this.paths += paths;
        this.hits += hits;
        this.sum += sum;
    }

    @Override
    public synchronized String toString() {
        return "paths " + paths + ", exercised " + hits + ", price " + sum / paths + " micro-units";
    }
}
