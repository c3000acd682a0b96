// The guest of PoolHandler, whose name is read once.
//
// Meant to be atomic: PoolHandlerFixed.greet, which checks and uses one and the same value.
//
// expect: serializable
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

public class PoolHandlerFixed {
    private volatile String name = "Ada";
    private volatile int length;

    private void greet() {
        var own = name;
        if (own != null) {
            length = own.length();
        }
    }

    private void forget() {
        name = null;
    }

    public static void main(String[] args) throws InterruptedException {
        var guest = new PoolHandlerFixed();
        var pool = Executors.newFixedThreadPool(2);
        pool.execute(guest::greet);
        pool.execute(guest::forget);
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        System.out.println("done");
    }
}
