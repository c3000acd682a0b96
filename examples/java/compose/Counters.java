// ICFinder's Listing 3: `get` and `compareAndSet` in a loop. The calls are meant to be one step and
// are: if another thread comes in between, the loop runs again.
//
// expect: none HandMade.getAndIncrement AtomicInteger.get AtomicInteger.compareAndSet
// Without the comparison an increment can be lost:
// expect: use HandMade.lossy AtomicInteger.get AtomicInteger.set
// whole:  2
// torn:   1
import java.util.concurrent.atomic.AtomicInteger;

class HandMade {
    private final AtomicInteger value = new AtomicInteger();

    int getAndIncrement() {
        for (;;) {
            int current = value.get();
            int next = current + 1;
            if (value.compareAndSet(current, next)) {
                return current;
            }
        }
    }

    void lossy() {
        int current = value.get();
        value.set(current + 1);
    }
}

public class Counters {
    public static void main(String[] args) {
        HandMade counter = new HandMade();
        new Thread(counter::lossy).start();
        counter.lossy();
        System.out.println(counter.getAndIncrement());
    }
}
