// The travelling salesman by branch and bound: workers take beginnings of tours from a pool and
// share the best length.
//
// Meant to be atomic: Pool.take, Best.length and Best.offer, all of them synchronized. Between
// asking for the best length and offering a tour another worker may find a better one. That does no
// harm: an old bound prunes less than it could, and offer compares again under the lock. So the
// shortest length is the same for every schedule, and it is all that is printed: which of several
// shortest tours is found first is nobody's business.
//
// The argument is the number of towns, 8 by default; 14 runs for seconds.
//
// expect: serializable
import java.util.ArrayDeque;
import java.util.Arrays;

public class Tsp {
    static final int THREADS = 3;

    public static void main(String[] args) throws InterruptedException {
        int towns = args.length > 0 ? Integer.parseInt(args[0]) : 8;
        var map = new TownMap(towns);
        var pool = new Pool(towns);
        var best = new Best();
        var workers = new Thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            workers[t] = new Thread(() -> work(map, pool, best), "worker-" + t);
            workers[t].start();
        }
        for (var worker : workers) {
            worker.join();
        }
        System.out.println("towns " + towns + ", shortest tour " + best.length());
        if (map.length(best.tour()) != best.length()) {
            System.out.println("the best tour and its length do not match");
        }
    }

    static void work(TownMap map, Pool pool, Best best) {
        for (var start = pool.take(); start != null; start = pool.take()) {
            var search = new Search(map, start, best.length());
            search.run();
            best.offer(search.tour(), search.length());
        }
    }
}

/** Towns in the plane at fixed places; distances are rounded to integers. */
class TownMap {
    final int towns;
    private final int[][] distance;

    TownMap(int towns) {
        this.towns = towns;
        distance = new int[towns][towns];
        for (int a = 0; a < towns; a++) {
            for (int b = 0; b < towns; b++) {
                int dx = a * 37 % 101 - b * 37 % 101;
                int dy = a * a * 53 % 103 - b * b * 53 % 103;
                distance[a][b] = (int) Math.round(Math.sqrt(dx * dx + dy * dy));
            }
        }
    }

    int distance(int a, int b) {
        return distance[a][b];
    }

    int length(int[] tour) {
        int length = distance[tour[towns - 1]][tour[0]];
        for (int i = 1; i < towns; i++) {
            length += distance[tour[i - 1]][tour[i]];
        }
        return length;
    }
}

/** The beginnings of all tours: town 0 and two more. */
class Pool {
    private final ArrayDeque<int[]> starts = new ArrayDeque<>();

    Pool(int towns) {
        for (int a = 1; a < towns; a++) {
            for (int b = 1; b < towns; b++) {
                if (a != b) {
                    starts.add(new int[] {0, a, b});
                }
            }
        }
    }

    synchronized int[] take() {
        return starts.poll();
    }
}

/** The best tour that anybody has found. */
class Best {
    private int[] tour;
    private int length = Integer.MAX_VALUE;

    synchronized int length() {
        return length;
    }

    synchronized int[] tour() {
        return tour;
    }

    synchronized void offer(int[] newTour, int newLength) {
        if (newLength < length) {
            tour = newTour;
            length = newLength;
        }
    }
}

/** All continuations of one beginning, depth first; private to its worker. */
class Search {
    private final TownMap map;
    private final int start;
    private final int[] path;
    private final boolean[] visited;
    private int[] tour;
    private int bound;

    Search(TownMap map, int[] start, int bound) {
        this.map = map;
        this.start = start.length;
        this.bound = bound;
        path = Arrays.copyOf(start, map.towns);
        visited = new boolean[map.towns];
        for (int town : start) {
            visited[town] = true;
        }
    }

    void run() {
        int length = 0;
        for (int i = 1; i < start; i++) {
            length += map.distance(path[i - 1], path[i]);
        }
        extend(start, length);
    }

    /** The best tour found, or null if none is shorter than the bound. */
    int[] tour() {
        return tour;
    }

    int length() {
        return tour == null ? Integer.MAX_VALUE : bound;
    }

    private void extend(int depth, int length) {
        if (length >= bound) {
            return;
        }
        if (depth == map.towns) {
            int closed = length + map.distance(path[depth - 1], path[0]);
            if (closed < bound) {
                bound = closed;
                tour = path.clone();
            }
            return;
        }
        for (int town = 1; town < map.towns; town++) {
            if (!visited[town]) {
                visited[town] = true;
                path[depth] = town;
                extend(depth + 1, length + map.distance(path[depth - 1], town));
                visited[town] = false;
            }
        }
    }
}
