package java.lang;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;

/**
 * Answers the command line, a line for a line: what operations a class has, and what the calls of a scenario give when
 * they are made one after the other in a certain order. A JVM of its own, in which nothing is recorded or scheduled.
 *
 * <p>A call that waits does not keep the calls of other sections from being made: one of them may be what it waits for.
 */
public final class UntornSequential {
    /** Nanoseconds after which a call that computes, or waits with a time limit, is taken to never return. */
    private static final long ENDLESS = 2_000_000_000L;
    /** Threads that may be left behind. */
    private static final int MAX_LEFT_BEHIND = 300;

    private final PrintStream answers;
    /** How long a thread must be blocked to be taken to wait. */
    private long patience = 5_000_000L;
    /** Whether each order has classes of its own. */
    private boolean isCareful;
    private int leftBehind;

    private UntornSequential(PrintStream answers) {
        this.answers = answers;
    }

    public static void main(String[] args) throws Exception {
        UntornSequential own = new UntornSequential(new PrintStream(new FileOutputStream(FileDescriptor.out), true));
        BufferedReader requests = new BufferedReader(new InputStreamReader(new FileInputStream(FileDescriptor.in)));
        // Whatever the class prints is not meant for us.
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        System.setIn(InputStream.nullInputStream());
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            if (!own.answer(line)) break;
        }
        Runtime.getRuntime().halt(0);
    }

    /** False if this JVM must not be asked again. */
    private boolean answer(String line) {
        int tab = line.indexOf('\t');
        String word = tab < 0 ? line : line.substring(0, tab);
        String rest = line.substring(tab + 1);
        try {
            switch (word) {
                case "describe":
                    describe(rest);
                    break;
                case "careful":
                    isCareful = true;
                    patience = 100_000_000L;
                    answers.println("ok");
                    break;
                default:
                    int end = rest.indexOf('\t');
                    answers.println(run(rest.substring(0, end), rest.substring(end + 1)));
            }
        } catch (InvocationTargetException thrown) {
            answers.println("error\tthe constructor throws " + thrown.getCause().getClass().getName());
        } catch (Throwable fault) {
            answers.println("error\t" + fault.toString().replace('\n', ' ').replace('\t', ' '));
        }
        return leftBehind <= MAX_LEFT_BEHIND;
    }

    // ---- what a class is ----

    private void describe(String name) throws Exception {
        Class<?> target;
        try {
            target = Class.forName(name, false, ClassLoader.getSystemClassLoader());
        } catch (ClassNotFoundException missing) {
            answers.println("missing");
            return;
        }
        StringBuilder out = new StringBuilder("class");
        if (target.isInterface() || Modifier.isAbstract(target.getModifiers())) out.append("\tabstract");
        for (Constructor<?> constructor : target.getDeclaredConstructors()) {
            if (Modifier.isPrivate(constructor.getModifiers())) continue;
            Class<?>[] types = constructor.getParameterTypes();
            String access = UntornCalls.isPublic(constructor) ? "public" : "other";
            out.append("\tconstructor ").append(access).append(' ');
            out.append(UntornCalls.descriptor(types, void.class)).append(' ').append(obstacle(types));
        }
        for (Method method : target.getMethods()) {
            if (!UntornCalls.isOperation(method)) continue;
            String owner = method.getDeclaringClass() == target ? "own" : "inherited";
            out.append("\tmethod ").append(owner).append(' ').append(method.getName()).append(' ');
            out.append(UntornCalls.descriptor(method)).append(' ').append(obstacle(method.getParameterTypes()));
        }
        answers.println(out);
    }

    /** A type of which no value can be made; {@code -} if there is none. */
    private static String obstacle(Class<?>[] types) {
        for (Class<?> type : types) {
            if (!UntornArguments.canMake(type)) return type.getTypeName();
        }
        return "-";
    }

    // ---- one order ----

    private String run(String scenario, String order) throws Exception {
        ClassLoader loader = isCareful ? ownLoader() : ClassLoader.getSystemClassLoader();
        Order run = new Order(UntornCalls.parse(scenario, loader));
        try {
            for (String section : order.split(",")) {
                if (!order.isEmpty() && !run.next(Integer.parseInt(section))) break;
            }
            return run.out.toString();
        } finally {
            run.end();
        }
    }

    private static ClassLoader ownLoader() throws Exception {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            urls.add(new File(entry).toURI().toURL());
        }
        return new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    }

    private final class Order {
        private final UntornCalls calls;
        private final UntornResults results;
        private final Object target;
        /** One for each section; the first and the last share theirs, as they do in a run. */
        private final Worker[] workers;
        private final int[] next;
        private final StringBuilder out = new StringBuilder("ok");

        Order(UntornCalls calls) throws Exception {
            this.calls = calls;
            target = calls.constructor.newInstance(calls.constructorArguments());
            results = new UntornResults(target);
            int count = calls.sections.length;
            workers = new Worker[count];
            next = new int[count];
            for (int section = 0; section < count; section++) {
                boolean isLast = section == count - 1 && section > 0;
                workers[section] = isLast ? workers[0] : new Worker(target);
            }
        }

        /** Makes the next call of a section; false if its thread still waits in an earlier one. */
        boolean next(int section) throws InterruptedException {
            Worker worker = workers[section];
            if (worker.isBusy()) return false;
            int index = next[section]++;
            out.append("\tcall ").append(section).append(' ').append(index);
            worker.begin(calls.sections[section][index], section + " " + index);
            // A call that was made to wait earlier may go on now, and after it another one.
            boolean goesOn = true;
            while (goesOn) {
                goesOn = false;
                for (Worker other : workers) goesOn |= settle(other);
            }
            return true;
        }

        /** Waits until a call has returned or waits itself. True if it has returned. */
        private boolean settle(Worker worker) throws InterruptedException {
            if (!worker.isBusy()) return false;
            if (!worker.await(patience)) return false;
            out.append('\t').append(results.outcome(worker.name, worker.result, worker.thrown));
            worker.name = null;
            return true;
        }

        void end() {
            for (Worker worker : workers) leftBehind += worker.end();
        }
    }

    /** A thread that makes calls, one after the other. */
    private static final class Worker extends Thread {
        private final Object target;
        private UntornCalls.Call call;
        private volatile boolean isInside;
        private boolean isOver;
        /** Of the call whose outcome nobody has taken yet. */
        String name;
        Object result;
        Throwable thrown;

        Worker(Object target) {
            this.target = target;
            setDaemon(true);
            start();
        }

        boolean isBusy() {
            return name != null;
        }

        synchronized void begin(UntornCalls.Call call, String name) {
            this.call = call;
            this.name = name;
            notifyAll();
        }

        /** True if the call has returned, false if it waits, or takes too long. */
        boolean await(long patience) throws InterruptedException {
            long begin = System.nanoTime();
            long blocked = 0;
            while (true) {
                synchronized (this) {
                    if (call == null) return true;
                    wait(0, blocked == 0 ? 200_000 : 999_999);
                    if (call == null) return true;
                }
                long now = System.nanoTime();
                Thread.State state = getState();
                // Before it has begun it waits for us.
                boolean isBlocked = isInside && (state == State.WAITING || state == State.BLOCKED);
                if (!isBlocked) blocked = 0;
                else if (blocked == 0) blocked = now;
                else if (now - blocked > patience) return false;
                if (isInside && now - begin > ENDLESS) return false;
            }
        }

        /** The number of threads that are left behind: more, if it uses up the processor. */
        synchronized int end() {
            isOver = true;
            notifyAll();
            if (call == null) return 0;
            interrupt();
            return getState() == State.RUNNABLE ? MAX_LEFT_BEHIND + 1 : 1;
        }

        @Override
        public void run() {
            while (true) {
                UntornCalls.Call own;
                synchronized (this) {
                    while (call == null && !isOver) {
                        try {
                            wait();
                        } catch (InterruptedException ignored) {
                            // The class under test may interrupt its callers.
                        }
                    }
                    if (call == null || isOver) return;
                    own = call;
                }
                isInside = true;
                perform(own);
                isInside = false;
                synchronized (this) {
                    call = null;
                    notifyAll();
                }
            }
        }

        private void perform(UntornCalls.Call own) {
            result = null;
            thrown = null;
            try {
                result = own.method.invoke(target, own.arguments());
            } catch (InvocationTargetException wrapped) {
                thrown = wrapped.getCause();
            } catch (Throwable fault) {
                thrown = fault;
            }
        }
    }
}
