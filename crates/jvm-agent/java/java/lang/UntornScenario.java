package java.lang;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.locks.LockSupport;

/**
 * Runs one scenario: calls of one object by several threads, with calls before and after by the main thread. What each
 * call gave is told to the command line, in the order in which calls began and returned.
 *
 * <p>This class is not recorded, and a thread is preempted only where it leaves a record. So a call is told as begun
 * right before it begins and as returned right after it returned, and the order of what is told is exact.
 */
public final class UntornScenario {
    private final UntornCalls calls;
    private final Object target;
    /** Objects that calls returned, in the order in which they were first seen. */
    private final UntornResults results;

    private UntornScenario(UntornCalls calls, Object target) {
        this.calls = calls;
        this.target = target;
        results = new UntornResults(target);
    }

    public static void main(String[] args) throws Exception {
        UntornProbe.suspendRecording();
        UntornScenario scenario;
        try {
            UntornCalls calls = UntornCalls.parse(scenario(), ClassLoader.getSystemClassLoader());
            Object[] arguments = calls.constructorArguments();
            rehearse();
            UntornProbe.resumeRecording();
            Object target = calls.constructor.newInstance(arguments);
            UntornProbe.suspendRecording();
            scenario = new UntornScenario(calls, target);
        } finally {
            UntornProbe.resumeRecording();
        }
        scenario.run();
    }

    /** What the JDK does before the first call by reflection is not a part of any run. */
    private static void rehearse() throws ReflectiveOperationException {
        UntornScenario.class.getDeclaredMethod("doNothing").invoke(null);
        UntornScenario.class.getDeclaredConstructor().newInstance();
    }

    private static void doNothing() {}

    private UntornScenario() {
        this(null, null);
    }

    private void run() throws InterruptedException {
        int last = calls.sections.length - 1;
        perform(0);
        Thread[] threads = new Thread[last];
        UntornProbe.suspendRecording();
        for (int section = 1; section < last; section++) threads[section] = new Section(this, section);
        UntornProbe.resumeRecording();
        for (int section = 1; section < last; section++) threads[section].start();
        for (int section = 1; section < last; section++) threads[section].join();
        perform(last);
    }

    private static final class Section extends Thread {
        private final UntornScenario scenario;
        private final int section;

        Section(UntornScenario scenario, int section) {
            super("thread " + section);
            this.scenario = scenario;
            this.section = section;
        }

        @Override
        public void run() {
            scenario.perform(section);
        }
    }

    private void perform(int section) {
        UntornCalls.Call[] own = calls.sections[section];
        for (int index = 0; index < own.length; index++) perform(own[index], section, index);
    }

    private void perform(UntornCalls.Call call, int section, int index) {
        pause();
        UntornProbe.suspendRecording();
        Object[] arguments = call.arguments();
        String name = section + " " + index;
        observed("call " + name);
        UntornProbe.resumeRecording();
        Object result = null;
        Throwable thrown = null;
        try {
            result = call.method.invoke(target, arguments);
        } catch (InvocationTargetException wrapped) {
            thrown = wrapped.getCause();
        } catch (IllegalAccessException impossible) {
            thrown = impossible;
        }
        UntornProbe.suspendRecording();
        observed(results.outcome(name, result, thrown));
        UntornProbe.resumeRecording();
    }

    /** Lets other threads run between two calls: leaves a record, and changes nothing. */
    private static void pause() {
        LockSupport.unpark(Thread.currentThread());
        LockSupport.park();
    }

    /** The scenario of this run, in the words of the command line. */
    private static native String scenario();

    /** Tells the command line. */
    private static native void observed(String what);
}
