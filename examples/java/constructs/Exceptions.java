// Exceptions through nested blocks, finally and try-with-resources, and out of threads.
//
// The thread "doomed" dies of an uncaught exception; the default handler prints it on the standard
// error.
//
// expect: output
// stderr: Exception in thread "doomed" java.lang.IllegalStateException: nobody catches this
public class Exceptions {
    static final Object outer = new Object();
    static final Object inner = new Object();
    static final StringBuilder trail = new StringBuilder();

    public static void main(String[] args) throws InterruptedException {
        nested();
        System.out.println("returned " + returnFromFinally() + ", " + trail);
        resources();
        rethrown();
        implicit();
        uncaught();
    }

    static void nested() {
        try {
            synchronized (outer) {
                try {
                    synchronized (inner) {
                        step("in");
                        throw new IllegalArgumentException("deep");
                    }
                } finally {
                    step("finally, inner " + Thread.holdsLock(inner));
                    step("outer " + Thread.holdsLock(outer));
                }
            }
        } catch (IllegalArgumentException e) {
            step("caught " + e.getMessage() + ", outer " + Thread.holdsLock(outer));
        }
        System.out.println(trail);
        trail.setLength(0);
    }

    static void step(String what) {
        trail.append(trail.length() == 0 ? "" : "; ").append(what);
    }

    @SuppressWarnings("finally")
    static int returnFromFinally() {
        for (int i = 0; ; i++) {
            try {
                step("try " + i);
                if (i == 1) {
                    throw new IllegalStateException("swallowed");
                }
            } finally {
                step("finally " + i);
                if (i == 1) {
                    return i;
                }
                continue;
            }
        }
    }

    static final class Resource implements AutoCloseable {
        final String name;

        Resource(String name) {
            this.name = name;
        }

        @Override
        public void close() {
            System.out.println("close " + name);
            throw new IllegalStateException("closing " + name);
        }
    }

    static void resources() {
        try (var first = new Resource("first"); var second = new Resource("second")) {
            System.out.println("open " + first.name + " " + second.name);
            throw new IllegalArgumentException("body");
        } catch (RuntimeException e) {
            System.out.println(e.getMessage() + ", suppressed " + e.getSuppressed().length);
        }
    }

    static void rethrown() {
        try {
            try {
                throw new CloneNotSupportedException("checked");
            } catch (Exception e) {
                throw new IllegalStateException("wrapped", e);
            }
        } catch (IllegalStateException | IllegalArgumentException e) {
            System.out.println(e.getMessage() + " " + e.getCause().getMessage());
        }
    }

    static void implicit() {
        int[] numbers = new int[1];
        Object text = "text";
        Object[] strings = new String[1];
        int zero = numbers[0];
        Exceptions nobody = zero == 0 ? null : new Exceptions();
        Runnable[] faults = {
            () -> numbers[1] = 1,
            () -> System.out.println(1 / zero),
            () -> System.out.println((Integer) text),
            () -> strings[0] = 1,
            () -> System.out.println(new int[zero - 1].length),
            () -> nobody.field = 1,
        };
        for (var fault : faults) {
            try {
                fault.run();
                System.out.println("not reached");
            } catch (RuntimeException e) {
                System.out.println(e.getClass().getSimpleName());
            }
        }
    }

    int field;

    static void uncaught() throws InterruptedException {
        var doomed = new Thread(() -> {
            synchronized (outer) {
                throw new IllegalStateException("nobody catches this");
            }
        }, "doomed");
        doomed.start();
        doomed.join();
        synchronized (outer) {
            System.out.println("the lock is free again");
        }
        var handled = new Thread(() -> {
            throw new IllegalStateException("the handler gets this");
        }, "handled");
        handled.setUncaughtExceptionHandler((thread, exception) ->
                System.out.println(thread.getName() + ": " + exception.getMessage()));
        handled.start();
        handled.join();
    }
}
