// Lazy initialisation without a lock.
//
// Meant to be atomic: Registry.get. Both threads find no instance, both make one, and they go on
// with different ones:
//
//   Alice  CheckThenAct.java:38  reads instance null
//   Bob    CheckThenAct.java:38  reads instance null
//   Bob    CheckThenAct.java:39  writes instance
//   Bob    CheckThenAct.java:41  returns his instance
//   Alice  CheckThenAct.java:39  writes instance again: Bob's is forgotten
//
// The field is volatile, so there is no data race to find.
//
// expect: violation Registry.get
// whole:  one registry
// torn:   two registries
import java.util.concurrent.atomic.AtomicReference;

public class CheckThenAct {
    public static void main(String[] args) throws InterruptedException {
        var seenByAlice = new AtomicReference<Registry>();
        var seenByBob = new AtomicReference<Registry>();
        var alice = new Thread(() -> seenByAlice.set(Registry.get()), "Alice");
        var bob = new Thread(() -> seenByBob.set(Registry.get()), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        boolean same = seenByAlice.get() == seenByBob.get();
        System.out.println(same ? "one registry" : "two registries");
    }
}

class Registry {
    private static volatile Registry instance;

    static Registry get() {
        if (instance == null) {
            instance = new Registry();
        }
        return instance;
    }
}
