// Successive over-relaxation of a grid in two colours, with a barrier written by hand.
//
// Meant to be atomic: Grid.relax, one colour of one band of rows. It reads cells of the other
// colour, some of them from the bands of its neighbours, and writes cells of its own. The barrier
// keeps the colours apart, so whatever one thread reads nobody writes at the same time: there is no
// lock around the grid, and none is missing. Barrier.await waits, and while it waits it gives up
// its lock on purpose: the block ends there and begins anew.
//
// The arguments are the size of the grid, 32 by default, and the number of rounds, 10 by default;
// 1500 and 1000 run for seconds. Every cell is computed from the same values whatever the schedule,
// so the sum is always the same.
//
// expect: serializable
import java.util.Arrays;

public class Sor {
    static final int THREADS = 4;

    public static void main(String[] args) throws InterruptedException {
        int size = args.length > 0 ? Integer.parseInt(args[0]) : 32;
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 10;
        var grid = new Grid(size);
        var barrier = new Barrier(THREADS);
        var workers = new Thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            int from = 1 + t * (size - 2) / THREADS;
            int to = 1 + (t + 1) * (size - 2) / THREADS;
            workers[t] = new Thread(() -> work(grid, barrier, from, to, rounds), "worker-" + t);
            workers[t].start();
        }
        for (var worker : workers) {
            worker.join();
        }
        long millionths = Math.round(grid.sum() * 1e6);
        System.out.println("size " + size + ", rounds " + rounds + ", sum " + millionths + "e-6");
    }

    static void work(Grid grid, Barrier barrier, int from, int to, int rounds) {
        for (int round = 0; round < rounds; round++) {
            grid.relax(0, from, to);
            barrier.await();
            grid.relax(1, from, to);
            barrier.await();
        }
    }
}

class Grid {
    private static final double OMEGA = 1.25;
    private final double[][] cells;

    /** A grid whose upper edge is hot. */
    Grid(int size) {
        cells = new double[size][size];
        Arrays.fill(cells[0], 1);
    }

    void relax(int colour, int from, int to) {
        for (int i = from; i < to; i++) {
            var above = cells[i - 1];
            var row = cells[i];
            var below = cells[i + 1];
            for (int j = 1 + (i + colour) % 2; j < row.length - 1; j += 2) {
                double mean = (above[j] + below[j] + row[j - 1] + row[j + 1]) / 4;
                row[j] += OMEGA * (mean - row[j]);
            }
        }
    }

    double sum() {
        double sum = 0;
        for (var row : cells) {
            for (double cell : row) {
                sum += cell;
            }
        }
        return sum;
    }
}

class Barrier {
    private final int parties;
    private int arrived;
    private int generation;

    Barrier(int parties) {
        this.parties = parties;
    }

    synchronized void await() {
        int mine = generation;
        arrived++;
        if (arrived == parties) {
            arrived = 0;
            generation++;
            notifyAll();
            return;
        }
        while (generation == mine) {
            try {
                wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
