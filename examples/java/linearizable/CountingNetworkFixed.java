// The counter of CountingNetwork as one counter.
// operations: next
// expect: linearizable
import java.util.concurrent.atomic.AtomicInteger;

public class CountingNetworkFixed {
    private final AtomicInteger counter = new AtomicInteger();

    public int next() {
        return counter.getAndIncrement();
    }
}
