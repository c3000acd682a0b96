// A counter made of a balancer and two counters, so that threads get in each other's way less often: a counting network of
// width two.
//
// Meant to be atomic: next. Every number is given once, but not in the order of calls: a thread that was sent to the first
// counter and has not come there yet leaves 0 to a later call, which begins after another one has returned 1. Counting
// networks are known not to be linearizable. CountingNetworkFixed is one counter.
// operations: next
// expect: not linearizable
import java.util.concurrent.atomic.AtomicInteger;

public class CountingNetwork {
    private final AtomicInteger balancer = new AtomicInteger();
    private final AtomicInteger[] counters = {new AtomicInteger(0), new AtomicInteger(1)};

    public int next() {
        int wire = balancer.getAndIncrement() & 1;
        return counters[wire].getAndAdd(2);
    }
}
