// Static initialisers that throw: an ExceptionInInitializerError for the first user,
// NoClassDefFoundError for all others.
//
// The thread "doomed" dies of one.
//
// expect: output
// stderr: Exception in thread "doomed" java.lang.ExceptionInInitializerError
import java.util.concurrent.atomic.AtomicInteger;

public class UncaughtInClinit {
    static class Broken {
        static int value = 1;

        static {
            value = Integer.parseInt("not a number");
        }
    }

    static class BrokenToo {
        static final int VALUE = fail();
    }

    static class Raced {
        static final int VALUE = fail();
    }

    static int fail() {
        throw new IllegalStateException("never initialised");
    }

    static class NeedsBroken extends Broken {
        static int other = 2;
    }

    static String use(Runnable user) {
        try {
            user.run();
            return "no error";
        } catch (ExceptionInInitializerError e) {
            return "error in initialiser: " + e.getCause().getClass().getSimpleName();
        } catch (NoClassDefFoundError e) {
            return "no class";
        }
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println("first use: " + use(() -> Broken.value++));
        System.out.println("second use: " + use(() -> Broken.value++));
        System.out.println("subclass: " + use(() -> NeedsBroken.other++));

        var doomed = new Thread(() -> System.out.println(BrokenToo.VALUE), "doomed");
        doomed.start();
        doomed.join();
        System.out.println("after the thread: " + use(() -> System.out.println(BrokenToo.VALUE)));

        var first = new AtomicInteger();
        var others = new AtomicInteger();
        var racers = new Thread[4];
        for (int i = 0; i < racers.length; i++) {
            racers[i] = new Thread(() -> {
                try {
                    System.out.println(Raced.VALUE);
                } catch (ExceptionInInitializerError e) {
                    first.incrementAndGet();
                } catch (NoClassDefFoundError e) {
                    others.incrementAndGet();
                }
            }, "racer-" + i);
            racers[i].start();
        }
        for (var racer : racers) {
            racer.join();
        }
        System.out.println("of four racers: initialiser " + first + ", no class " + others);
    }
}
