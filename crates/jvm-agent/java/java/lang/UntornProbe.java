package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * The half of the Untorn agent that runs inside of the program: what rewritten classes call.
 *
 * <p>Exactly one controlled thread runs at a time; it holds the token and is {@link #owner}. Its events go
 * into one off-heap buffer, {@link #RECORD} bytes each, and native code is entered only when the address
 * {@link #pos} reaches {@link #limit}: the buffer is full, or it is time to let another thread run. So "run for n
 * events" costs nothing but the value of {@code limit}. Threads that are not controlled (the JVM's own) are
 * never the owner, and their probes do nothing.
 *
 * <p>Probes of accesses come <em>after</em> the access: the thread can only lose the token after an event, so
 * the order of records is the order of accesses.
 *
 * <p>The class lives in {@code java.lang} because classes of the boot loader must be able to call it before
 * modules exist; it is defined before any Java code runs and therefore has no static initialiser. Whatever it
 * calls before {@link #owner} is set must not need one either.
 */
public final class UntornProbe {
    private static final long RECORD = 24;

    /** The thread that has the token and is recorded; null before the program begins and after it ended. */
    static Thread owner;
    /** Number of the owner, counted from 1. It is written into the lock words of the monitors that the owner holds. */
    static int self;
    /** The address of the next record, and the address at which native code is called. */
    static long pos;
    static long limit;
    /** Branches of the owner since its last record. */
    static int branches;
    /** After this many branches without an event the thread is considered to spin. */
    static int spin;
    /** One word for each object number: number of the owner (high half) and depth (low half); 0 means free. */
    static long locks;
    /** While positive the owner keeps the token (it runs a class initialiser). */
    static int quiet;
    /** How many more times the owner must not be preempted. */
    static int spare;
    /** The thread that has the token but is not recorded (it loads a class), and the nesting depth of that. */
    static Thread silent;
    static int depth;
    /** How many controlled threads lost the token while they were blocked in code that the agent does not see. */
    static int away;
    /** Whether native methods can be called. */
    static boolean ready;
    /** Offset of the identity in the header of an unlocked object; 0 if it could not be determined. */
    static long identityBits;
    /** The lowest bits of the header of an object, which encode whether it is unlocked. */
    private static final long STATE_BITS = 7;
    private static final long FREE = 1;

    /** How many events the JVM needs to wrap an exception of a class initialiser into an error. */
    private static final int SPARED = 8;

    private UntornProbe() {}

    // ---- fields: the site determines whether it is a read or a write ----

    public static void field(Object object, int value, int site) {
        if (here()) put(site, System.identityHashCode(object), value, 0);
    }

    public static void field(Object object, long value, int site) {
        if (here()) put(site, System.identityHashCode(object), value, 0);
    }

    public static void field(Object object, float value, int site) {
        if (here()) put(site, System.identityHashCode(object), Float.floatToRawIntBits(value), 0);
    }

    public static void field(Object object, double value, int site) {
        if (here()) put(site, System.identityHashCode(object), Double.doubleToRawLongBits(value), 0);
    }

    public static void field(Object object, Object value, int site) {
        if (here()) put(site, System.identityHashCode(object), System.identityHashCode(value), 0);
    }

    // ---- static fields ----

    public static void global(int value, int site) {
        if (here()) put(site, 0, value, 0);
    }

    public static void global(long value, int site) {
        if (here()) put(site, 0, value, 0);
    }

    public static void global(float value, int site) {
        if (here()) put(site, 0, Float.floatToRawIntBits(value), 0);
    }

    public static void global(double value, int site) {
        if (here()) put(site, 0, Double.doubleToRawLongBits(value), 0);
    }

    public static void global(Object value, int site) {
        if (here()) put(site, 0, System.identityHashCode(value), 0);
    }

    // ---- elements of arrays ----

    public static void element(Object array, int index, int value, int site) {
        if (here()) put(site, System.identityHashCode(array), value, index);
    }

    public static void element(Object array, int index, long value, int site) {
        if (here()) put(site, System.identityHashCode(array), value, index);
    }

    public static void element(Object array, int index, float value, int site) {
        if (here()) put(site, System.identityHashCode(array), Float.floatToRawIntBits(value), index);
    }

    public static void element(Object array, int index, double value, int site) {
        if (here()) put(site, System.identityHashCode(array), Double.doubleToRawLongBits(value), index);
    }

    public static void element(Object array, int index, Object value, int site) {
        if (here()) put(site, System.identityHashCode(array), System.identityHashCode(value), index);
    }

    // ---- monitors ----

    /** Before a monitor is entered: waits, in the scheduler, until it is free. */
    public static void enter(Object object, int site) {
        if (object == null || !hasToken() || isIrrelevant(object)) return;
        int id = System.identityHashCode(object);
        Unsafe unsafe = Unsafe.getUnsafe();
        long word = locks + ((long) id << 3);
        long held = unsafe.getLong(word);
        if (held == 0) {
            unsafe.putLong(word, (long) self << 32 | 1);
        } else if ((int) (held >>> 32) == self) {
            unsafe.putLong(word, held + 1);
        } else {
            contended(object, id, site);
        }
        if (silent == null) put(site, id, 0, 0);
    }

    /** After a monitor was left. */
    public static void exit(Object object, int site) {
        if (!hasToken() || isIrrelevant(object)) return;
        int id = System.identityHashCode(object);
        Unsafe unsafe = Unsafe.getUnsafe();
        long word = locks + ((long) id << 3);
        long held = unsafe.getLong(word);
        if ((int) (held >>> 32) != self) return; // entered before the program began
        unsafe.putLong(word, (int) held == 1 ? 0 : held - 1);
        if (silent == null) put(site, id, 0, 0);
    }

    /**
     * Whether a monitor does not matter to other threads: it is entered while recording is suspended, it is free, and
     * its object has no identity yet (every recorded entry asks for one). Giving it an identity would shift those of
     * all later objects; and which monitors are entered while recording is suspended differs between runs, because
     * the verifier and the compiler load classes in no fixed order.
     */
    private static boolean isIrrelevant(Object object) {
        if (silent == null || identityBits == 0) return false;
        long header = Unsafe.getUnsafe().getLong(object, 0L);
        return (header & STATE_BITS) == FREE && (header & identityBits) == 0;
    }

    /** Reads the header of an object before and after it gets its identity. */
    private static long findIdentityBits() {
        Object object = new Object();
        Unsafe unsafe = Unsafe.getUnsafe();
        long before = unsafe.getLong(object, 0L);
        long identity = System.identityHashCode(object);
        long after = unsafe.getLong(object, 0L);
        for (int shift = 0; shift < 33; shift++) {
            if (identity << shift == (before ^ after)) return 0x7fff_ffffL << shift;
        }
        return 0;
    }

    /** In place of {@code object.notify()} and {@code object.notifyAll()}. */
    public static void notify(Object object, int site) {
        object.notify(); // throws if the monitor is not ours, and wakes threads that are not controlled
        if (here()) notified(System.identityHashCode(object), false, site);
        else if (ready) notifiedOutside(object, false);
    }

    public static void notifyAll(Object object, int site) {
        object.notifyAll();
        if (here()) notified(System.identityHashCode(object), true, site);
        else if (ready) notifiedOutside(object, true);
    }

    /** In place of {@code object.wait(…)}: the native method below it asks the scheduler and needs the site. */
    public static void wait(Object object, int site) throws InterruptedException {
        waitingAt(site);
        object.wait();
    }

    public static void wait(Object object, long millis, int site) throws InterruptedException {
        waitingAt(site);
        object.wait(millis);
    }

    public static void wait(Object object, long millis, int nanos, int site) throws InterruptedException {
        waitingAt(site);
        object.wait(millis, nanos);
    }

    private static void waitingAt(int site) {
        if (here()) waitSite(site);
    }

    /** Before {@code Thread.join} returns. */
    public static void joined(Thread thread) {
        if (here()) hasJoined(thread);
    }

    // ---- methods and blocks ----

    /** A method or a declared atomic block begins or ends; the site determines which. */
    public static void mark(Object receiver, int site) {
        if (here()) put(site, System.identityHashCode(receiver), 0, 0);
    }

    public static void mark(int site) {
        if (here()) put(site, 0, 0, 0);
    }

    /** An argument of a tracked call, or its result; the site determines which. */
    public static void callValue(int value, int site) {
        if (here()) put(site, 0, value, 0);
    }

    public static void callValue(long value, int site) {
        if (here()) put(site, 0, value, 0);
    }

    public static void callValue(Object value, int site) {
        if (here()) put(site, 0, System.identityHashCode(value), 0);
    }

    /** Before a conditional branch or a switch. */
    public static void branch() {
        Thread thread = owner;
        if (thread != null && thread == Thread.currentThread() && ++branches >= spin) spinning();
    }

    /** A class initialiser begins: other threads may need the class, so the thread keeps the token. */
    public static void beginInitialiser(int site) {
        if (here()) {
            quiet++;
            put(site, 0, 0, 0);
        }
    }

    public static void endInitialiser(int site) {
        if (here()) {
            put(site, 0, 0, 0);
            if (quiet > 0) quiet--;
        }
    }

    /**
     * It threw: the JVM now wraps the exception into an error, in Java code, before other threads can use the class.
     */
    public static void failInitialiser(int site) {
        if (here()) {
            put(site, 0, 0, 0);
            if (quiet > 0) quiet--;
            spare = SPARED;
        }
    }

    /** Internal code of the JDK begins, such as loading a class: it is not recorded and not preempted. */
    public static void suspendRecording() {
        if (away != 0) comeBack(); // Otherwise this suspension would not be counted.
        Thread thread = owner;
        if (thread == null) {
            if (silent != null && silent == Thread.currentThread()) depth++;
        } else if (thread == Thread.currentThread()) {
            owner = null;
            silent = thread;
            depth = 1;
        }
    }

    public static void resumeRecording() {
        // Recording would stay suspended for ever in a thread that lost the token meanwhile.
        if (away != 0) comeBack();
        Thread thread = silent;
        if (thread != null && thread == Thread.currentThread() && --depth == 0) {
            silent = null;
            owner = thread;
        }
    }

    // ---- time ----

    public static long nanoTime() {
        return hasToken() ? virtualNanos() : System.nanoTime();
    }

    public static long currentTimeMillis() {
        return hasToken() ? virtualMillis() : System.currentTimeMillis();
    }

    /** In place of {@code Thread.sleep} in code that waits for something that the JVM does meanwhile. */
    public static native void sleepOutside(long millis);

    /** In place of the time from which the order of immutable collections is derived: any constant will do. */
    public static long salt() {
        return 1;
    }

    /** In place of the native method below {@code Instant.now()}: nanoseconds since {@code seconds} of the epoch. */
    public static long nanoTimeAdjustment(long seconds) {
        if (!hasToken()) return jdk.internal.misc.VM.getNanoTimeAdjustment(seconds);
        return (virtualMillis() - seconds * 1000) * 1_000_000;
    }

    // ---- randomness ----

    /** The state after the bytes that were generated so far: a sequence that contains every number once (Weyl). */
    private static long drawn;

    /** Overwrites the bytes of the operating system, so that every run gets the same. */
    public static void random(byte[] bytes) {
        if (bytes == null || !hasToken()) return;
        long eight = 0;
        for (int at = 0; at < bytes.length; at++) {
            eight = (at & 7) == 0 ? mixed(drawn += 0x9e3779b97f4a7c15L) : eight >>> 8;
            bytes[at] = (byte) eight;
        }
    }

    /** Every bit of the number affects every bit of the result (the finaliser of SplitMix64). */
    private static long mixed(long number) {
        number = (number ^ (number >>> 30)) * 0xbf58476d1ce4e5b9L;
        number = (number ^ (number >>> 27)) * 0x94d049bb133111ebL;
        return number ^ (number >>> 31);
    }

    // ---- the start of the JVM ----

    /**
     * Called before the JVM starts the thread that would load this class at any moment. Newer releases may not have
     * it.
     */
    public static void loadCleaner() {
        try {
            jdk.internal.ref.Cleaner.create(null, null);
        } catch (LinkageError none) {
            // Then no thread loads it.
        }
    }

    /** Waits for a queue once, as an uncontrolled thread is about to do. Later waits load no further classes. */
    public static void loadQueue() {
        if (owner != null || silent != null) return;
        try {
            new java.lang.ref.ReferenceQueue<Object>().remove(1);
        } catch (InterruptedException early) {
            Thread.currentThread().interrupt();
        }
    }

    // ---- memory ----

    /**
     * In place of {@code System.gc()}. A program that asks for a collection expects weak references to be cleared,
     * but the agent keeps their referents alive.
     */
    public static void gc() {
        boolean isControlled = hasToken();
        if (isControlled) releaseReferents();
        System.gc();
        if (isControlled) awaitReferences();
    }

    /** In place of {@code runtime.gc()}. */
    public static void gc(Runtime runtime) {
        if (runtime == null) throw new NullPointerException();
        gc();
    }

    /** The amount of free memory depends on other threads of the JVM; the program gets a constant. */
    public static long freeMemory(Runtime runtime) {
        return hasToken() ? runtime.maxMemory() / 2 : runtime.freeMemory();
    }

    public static long totalMemory(Runtime runtime) {
        return hasToken() ? runtime.maxMemory() : runtime.totalMemory();
    }

    // ---- reflection ----

    /** The methods of a class as the program gets them: with their modifiers, and in the same order in each run. */
    public static java.lang.reflect.Method[] declared(java.lang.reflect.Method[] methods) {
        if (ready && methods.length != 0) restoreModifiers(methods[0].getDeclaringClass(), methods);
        String[] keys = new String[methods.length];
        for (int index = 0; index < methods.length; index++) keys[index] = signature(methods[index]);
        sort(methods, keys);
        return methods;
    }

    /** The loaded classes that another agent has asked for, in the same order in each run. */
    public static Class<?>[] loaded(Class<?>[] classes, Object instrumentation) {
        String[] keys = new String[classes.length];
        for (int index = 0; index < classes.length; index++) keys[index] = classes[index].getName();
        sort(classes, keys);
        return classes;
    }

    /** Makes those methods synchronized again whose monitor was made explicit. */
    private static native void restoreModifiers(Class<?> of, java.lang.reflect.Method[] methods);

    /** Sorts things by their keys. The JVM sorts by the addresses of names, which differ between runs. */
    private static void sort(Object[] things, String[] keys) {
        for (int next = 0; next < things.length; next++) {
            Object thing = things[next];
            String key = keys[next];
            int low = 0;
            int high = next;
            while (low < high) {
                int middle = (low + high) >>> 1;
                if (keys[middle].compareTo(key) <= 0) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            System.arraycopy(things, low, things, low + 1, next - low);
            System.arraycopy(keys, low, keys, low + 1, next - low);
            things[low] = thing;
            keys[low] = key;
        }
    }

    /** Without a string builder, whose accesses would be recorded. */
    private static String signature(java.lang.reflect.Method method) {
        String text = method.getName().concat("(");
        for (Class<?> type : method.getParameterTypes()) {
            text = text.concat(type.getName()).concat(",");
        }
        return text.concat(method.getReturnType().getName());
    }

    /** After another agent in Java has announced that it changes classes. */
    public static native void transformerAdded();

    // ---- threads ----

    /** The state of a thread: for the JVM, all threads that the scheduler stops run in native code. */
    public static Thread.State state(Thread.State known, Thread thread) {
        if (known != Thread.State.RUNNABLE || !ready) return known;
        switch (blockedIn(thread)) {
            case 1: return Thread.State.BLOCKED;
            case 2: return Thread.State.WAITING;
            case 3: return Thread.State.TIMED_WAITING;
            default: return known;
        }
    }

    private static native int blockedIn(Thread thread);

    // ---- lambdas ----

    /**
     * The class of a lambda or a method reference, before it is defined: the JVM does not pass such classes to
     * agents.
     */
    public static byte[] lambda(byte[] bytes) {
        byte[] rewritten = ready && locks != 0 ? rewriteLambda(bytes) : null;
        return rewritten == null ? bytes : rewritten;
    }

    private static native byte[] rewriteLambda(byte[] bytes);

    // ---- the launcher of the JDK ----

    /** The main class is known and the program is about to begin. */
    public static void programBegins() {
        begin();
    }

    /** The program called {@code System.exit}; hooks have still to run. */
    public static void programExits(int code) {
        if (UntornServer.isRunning) UntornServer.programEnds(code, false);
    }

    /** The hooks have run, or the program does not want them to. */
    public static void programHalts(int code) {
        if (UntornServer.isRunning) UntornServer.programEnds(code, true);
        if (locks != 0) end();
    }

    // ---- common entry checks ----

    /** Whether the current thread has the token and is recorded. */
    static boolean here() {
        Thread thread = owner;
        if (thread != null && thread == Thread.currentThread()) return true;
        // A thread that lost the token while recording was suspended continues suspended when it gets it back.
        return away != 0 && comeBack() && owner == Thread.currentThread();
    }

    /**
     * Whether the current thread has the token, recorded or suspended. Monitors are modelled and time is virtual in
     * both states: other threads may need the monitors, and random numbers are seeded by the time.
     */
    private static boolean hasToken() {
        return here() || (silent != null && silent == Thread.currentThread());
    }

    static void put(int site, int object, long value, int index) {
        Unsafe unsafe = Unsafe.getUnsafe();
        long to = pos;
        unsafe.putLong(to, (long) object << 32 | site & 0xffffffffL);
        unsafe.putLong(to + 8, value);
        unsafe.putLong(to + 16, (long) branches << 32 | index & 0xffffffffL);
        branches = 0;
        to += RECORD;
        pos = to;
        if (to >= limit) turn();
    }

    /**
     * Writes a record without giving up the token, because another record of the same step follows. Buffers are a
     * little longer than their limit for this; {@link UntornArrays#MAX_ELEMENTS} bounds the number of records of a
     * step.
     */
    static void putFirst(int site, int object, long value, int index) {
        long last = limit;
        limit = Long.MAX_VALUE;
        put(site, object, value, index);
        limit = last;
    }

    /** After records that were {@link #putFirst}: the turn may end here. */
    static void endStep() {
        if (pos >= limit) turn();
    }

    /**
     * Called once by the agent. The JVM prints no warning for {@code init} because its caller is of the boot loader.
     */
    static void setUp() {
        init();
        identityBits = findIdentityBits();
        ready = true;
    }

    /** Found by name in the agent's library; registers the other native methods. */
    private static native void init();

    private static native void begin();

    private static native void end();

    /** The limit is reached: a full buffer, or the end of the turn. */
    private static native void turn();

    private static native void spinning();

    private static native boolean comeBack();

    private static native void contended(Object object, int id, int site);

    private static native void notified(int id, boolean all, int site);

    /** A thread without the token notified: perhaps one of the JDK, which reports that a child process has ended. */
    private static native void notifiedOutside(Object object, boolean all);

    private static native void waitSite(int site);

    private static native void hasJoined(Thread thread);

    /** Kinds of variables; numbers of the trace format. */
    static final int FIELD = 1, CONTENTS = 4, KEYED_CONTENTS = 5, SYNC_STATE = 6;

    /**
     * The number of a field that is accessed by its name: by reflection, a handle or an updater; or of a variable
     * that models other state.
     */
    static native int fieldNumber(String inClass, String name, String descriptor, int role);

    /** Releases the referents of weak references that are kept alive. */
    private static native void releaseReferents();

    /** Returns when the cleared references are in their queues. */
    private static native void awaitReferences();

    private static native long virtualNanos();

    private static native long virtualMillis();

    /** Before an event that the plan names: may hold the thread until the plan permits the event. */
    public static void planned(int site) {
        if (here()) atSite(site);
    }

    private static native void atSite(int site);

    /** In a JVM that makes many runs: whether threads of this one ask nowhere, where a bit says so, or everywhere. */
    static int asking;
    /** A bit for each place. */
    static long asks;

    /** Before an event that the plan of this run may name. */
    public static void asked(int site) {
        if (asking != 0 && (asking == 2 || isAskedAt(site)) && here()) atSite(site);
    }

    private static boolean isAskedAt(int site) {
        return (Unsafe.getUnsafe().getLong(asks + (site >>> 6 << 3)) >>> site & 1) != 0;
    }

    /** Nothing of an earlier run is left. */
    static void reset() {
        drawn = 0;
        branches = 0;
        quiet = 0;
        spare = 0;
        depth = 0;
    }
}
