// A tear that ends a task of a pool. The pool's default handler prints the exception, and the program exits with 0.
//
// Meant to be atomic: PoolHandler.greet. The name is forgotten between the check and its use.
//
// expect: violation PoolHandler.greet
// whole:  done
// stderr: Exception in thread "pool-
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

public class PoolHandler {
    private volatile String name = "Ada";
    private volatile int length;

    private void greet() {
        if (name != null) {
            length = name.length();
        }
    }

    private void forget() {
        name = null;
    }

    public static void main(String[] args) throws InterruptedException {
        var guest = new PoolHandler();
        var pool = Executors.newFixedThreadPool(2);
        pool.execute(guest::greet);
        pool.execute(guest::forget);
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        System.out.println("done");
    }
}
