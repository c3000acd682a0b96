// ICFinder's Listing 1: a learner adds an edge to a net of nodes unless it is there already. Both
// calls are atomic; another learner can add the same edge between them, and then it is there twice.
//
// expect: use BayesLearner.learn Net.hasEdge Net.applyOp
// whole:  1
// torn:   2
import java.util.ArrayList;
import java.util.List;

class Net {
    private final List<int[]> edges = new ArrayList<>();
    private int changes;

    synchronized boolean hasEdge(int from, int to) {
        for (int[] edge : edges) {
            if (edge[0] == from && edge[1] == to) {
                return true;
            }
        }
        return false;
    }

    synchronized void applyOp(int op, int from, int to) {
        edges.add(new int[] {from, to});
        changes += op;
    }

    synchronized int size() {
        return edges.size();
    }
}

class BayesLearner implements Runnable {
    static final int INSERT = 1;

    private final Net net;

    BayesLearner(Net net) {
        this.net = net;
    }

    void learn(int op, int from, int to) {
        boolean isTaskValid = true;
        if (op == INSERT) {
            if (net.hasEdge(from, to)) {
                isTaskValid = false;
            }
        }
        if (isTaskValid) {
            net.applyOp(op, from, to);
        }
    }

    @Override
    public void run() {
        learn(INSERT, 1, 2);
    }
}

public class Bayes {
    public static void main(String[] args) throws InterruptedException {
        Net net = new Net();
        Thread[] threads = {new Thread(new BayesLearner(net)), new Thread(new BayesLearner(net))};
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(net.size());
    }
}
