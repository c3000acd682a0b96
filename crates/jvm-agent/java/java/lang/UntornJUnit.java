package java.lang;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs one JUnit test class, or one of its methods, in this JVM. It uses the JUnit on the class path, by reflection:
 * JUnit 5 if its launcher is there and finds the test, else JUnit 4. A failure is printed as the JVM prints an
 * uncaught exception.
 */
public final class UntornJUnit {
    /** The exit code if there is no test to run. The command line uses the same number. */
    private static final int NOTHING_TO_RUN = 87;

    private static final String LAUNCHER = "org.junit.platform.launcher.core.LauncherFactory";
    private static final String JUPITER = "org.junit.jupiter.api.Test";
    private static final String JUNIT4 = "org.junit.runner.JUnitCore";

    private final Class<?> test;
    /** Null to run the whole class. */
    private final String method;
    private final List<String> obstacles = new ArrayList<>();

    private UntornJUnit(Class<?> test, String method) {
        this.test = test;
        this.method = method;
    }

    /** The result of a run: how many tests ran, and which failed, with the exception. */
    private static final class Result {
        long count;
        /** Names of failed tests, not always distinct, each with the exception. */
        final List<String> failed = new ArrayList<>();
        final List<Throwable> thrown = new ArrayList<>();

        void fail(String name, Throwable why) {
            failed.add(name);
            thrown.add(why);
        }
    }

    public static void main(String[] args) throws Exception {
        String[] parts = args[0].split("#", 2);
        Class<?> test;
        try {
            test = Class.forName(parts[0], false, ClassLoader.getSystemClassLoader());
        } catch (ClassNotFoundException | LinkageError missing) {
            refuse("the test class cannot be loaded: " + missing, "is it on the class path? -cp names it");
            return;
        }
        new UntornJUnit(test, parts.length > 1 ? parts[1] : null).run(args[0]);
    }

    private void run(String name) throws Exception {
        Result result = null;
        if (has(LAUNCHER)) {
            result = byPlatform();
        } else if (has(JUPITER)) {
            obstacles.add("JUnit 5 is there, but not what starts it: add junit-platform-launcher to the class path");
        }
        if (result == null && has(JUNIT4)) {
            result = byJUnit4();
        }
        if (result == null) {
            if (obstacles.isEmpty()) {
                obstacles.add("neither JUnit 4 (junit, hamcrest) nor JUnit 5 (junit-platform-launcher) is on the class path");
            }
            refuse("there is no way to run " + name, obstacles.toArray(new String[0]));
            return;
        }
        report(result);
        System.exit(result.failed.isEmpty() ? 0 : 1);
    }

    private static void refuse(String what, String... more) {
        System.err.println("untorn: error: " + what);
        for (String line : more) System.err.println("  " + line);
        System.exit(NOTHING_TO_RUN);
    }

    private static void report(Result result) {
        for (String name : result.failed) System.out.println("failed: " + name);
        for (Throwable thrown : result.thrown) {
            System.err.print("Exception in thread \"main\" ");
            thrown.printStackTrace();
        }
        System.out.println("tests: " + result.count + ", failed: " + result.failed.size());
    }

    /** With the launcher of JUnit 5; null if it finds no such test. */
    private Result byPlatform() throws ReflectiveOperationException {
        Class<?> builder = load("org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder");
        Class<?> request = load("org.junit.platform.launcher.LauncherDiscoveryRequest");
        Class<?> listener = load("org.junit.platform.launcher.TestExecutionListener");
        Object listeners = Array.newInstance(listener, 1);
        Object summary = make("org.junit.platform.launcher.listeners.SummaryGeneratingListener");
        Array.set(listeners, 0, summary);
        try {
            Object wanted = builder.getMethod("request").invoke(null);
            builder.getMethod("selectors", List.class).invoke(wanted, selectors());
            Object asked = builder.getMethod("build").invoke(wanted);
            Object launcher = load(LAUNCHER).getMethod("create").invoke(null);
            load("org.junit.platform.launcher.Launcher")
                .getMethod("execute", request, listeners.getClass()).invoke(launcher, asked, listeners);
        } catch (InvocationTargetException fault) {
            obstacles.add("JUnit 5: " + fault.getCause());
            return null;
        }
        Result result = platformResult(call(summary, "getSummary"));
        if (result == null) obstacles.add("JUnit 5 finds no such test; an engine for its kind may be missing (junit-jupiter-engine)");
        return result;
    }

    private List<Object> selectors() throws ReflectiveOperationException {
        Class<?> selectors = load("org.junit.platform.engine.discovery.DiscoverySelectors");
        List<Object> chosen = new ArrayList<>();
        if (method == null) {
            chosen.add(selectors.getMethod("selectClass", Class.class).invoke(null, test));
        }
        Method select = selectors.getMethod("selectMethod", Class.class, Method.class);
        for (Class<?> in = test; in != null && method != null; in = in.getSuperclass()) {
            for (Method one : in.getDeclaredMethods()) {
                if (one.getName().equals(method)) chosen.add(select.invoke(null, test, one));
            }
        }
        return chosen;
    }

    private static Result platformResult(Object summary) throws ReflectiveOperationException {
        Class<?> kind = load("org.junit.platform.launcher.listeners.TestExecutionSummary");
        Class<?> failed = load("org.junit.platform.launcher.listeners.TestExecutionSummary$Failure");
        Class<?> identifier = load("org.junit.platform.launcher.TestIdentifier");
        Result result = new Result();
        result.count = (Long) kind.getMethod("getTestsFoundCount").invoke(summary);
        for (Object failure : (List<?>) kind.getMethod("getFailures").invoke(summary)) {
            Object which = failed.getMethod("getTestIdentifier").invoke(failure);
            String name = (String) identifier.getMethod("getDisplayName").invoke(which);
            result.fail(name, (Throwable) failed.getMethod("getException").invoke(failure));
        }
        return result.count == 0 && result.failed.isEmpty() ? null : result;
    }

    /** With JUnit 4; null if it finds no such test. */
    private Result byJUnit4() throws ReflectiveOperationException {
        Class<?> request = load("org.junit.runner.Request");
        Object asked = method == null
            ? request.getMethod("aClass", Class.class).invoke(null, test)
            : request.getMethod("method", Class.class, String.class).invoke(null, test, method);
        Class<?> core = load(JUNIT4);
        Object run = core.getMethod("run", request).invoke(make(JUNIT4), asked);
        Result result = new Result();
        result.count = (Integer) call(run, "getRunCount");
        for (Object failure : (List<?>) call(run, "getFailures")) {
            Throwable thrown = (Throwable) call(failure, "getException");
            // The name JUnit 4 gives to a test that does not exist.
            if ("initializationError".equals(call(call(failure, "getDescription"), "getMethodName"))) {
                obstacles.add("JUnit 4: " + thrown.getMessage());
                return null;
            }
            result.fail((String) call(failure, "getTestHeader"), thrown);
        }
        return result;
    }

    private static boolean has(String name) {
        try {
            load(name);
            return true;
        } catch (ClassNotFoundException | LinkageError missing) {
            return false;
        }
    }

    private static Class<?> load(String name) throws ClassNotFoundException {
        return Class.forName(name, true, ClassLoader.getSystemClassLoader());
    }

    private static Object make(String name) throws ReflectiveOperationException {
        return load(name).getConstructor().newInstance();
    }

    /** Requires a public class. */
    private static Object call(Object object, String name) throws ReflectiveOperationException {
        return object.getClass().getMethod(name).invoke(object);
    }
}
