package java.lang;

import java.io.FileInputStream;
import java.lang.invoke.MethodType;
import java.lang.ref.Reference;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TimeZone;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import jdk.internal.loader.URLClassPath;
import jdk.internal.misc.Unsafe;

/**
 * Makes many runs of the program in this JVM, one after the other. Each has a class loader of its own that takes the place of the
 * system class loader, so its classes are new, and a new thread {@code main}. What of the JDK a program can see and change is
 * as it was before the first run; where that cannot be had, the JVM is used no more, and says why.
 */
public final class UntornServer {
    /** Of the launcher of the JDK: what its second argument says of the third. */
    private static final int CLASS = 1, JAR = 2;

    /** Between arguments. */
    private static final String SEPARATOR = "\1";

    /** Milliseconds that all shutdown hooks of a run have together. */
    private static final long LONGEST_HOOK = 2000;

    /** Set by the agent before the program would begin. */
    static boolean isServing;
    /** A run is being made. */
    static boolean isRunning;
    /** The run at hand was ended without its hooks. */
    private static volatile boolean isHalted;

    /** The arguments of the run at hand, if they are not those that the JVM was started with. */
    static String replaced;

    private final String mainClass;
    private final String[] arguments;
    private final String classPath = System.getProperty("java.class.path");
    private final ThreadGroup system = Thread.currentThread().getThreadGroup().getParent();
    private final Constructor<?> loaders = onlyConstructor("jdk.internal.loader.ClassLoaders$AppClassLoader");
    private final Constructor<?> paths = URLClassPath.class.getDeclaredConstructor(String.class, boolean.class);
    private final Method printStreams = method(System.class, "newPrintStream");
    private final ClassLoader parent = ClassLoader.getPlatformClassLoader();
    /** What the properties were before the first run. */
    private final Properties original = (Properties) System.getProperties().clone();
    private final Locale locale = Locale.getDefault();
    private final Locale[] locales = {
        Locale.getDefault(Locale.Category.DISPLAY), Locale.getDefault(Locale.Category.FORMAT)
    };
    private final List<Counter> counters = new ArrayList<>();
    private final List<Pool> pools = new ArrayList<>();
    private final MethodTypes methodTypes = MethodTypes.find();
    /** Set by the constructor: in a JVM that makes one run, nothing of the JDK is initialised because of this class. */
    private static Field hooks;
    private static List<Thread> hooksOfJdk;
    private static final String LOGGING = "java.util.logging.LogManager";
    private final Field files = field("java.io.DeleteOnExitHook", "files");
    private ThreadGroup group;

    private UntornServer(String mainClass, String[] arguments) throws ReflectiveOperationException {
        this.mainClass = mainClass;
        this.arguments = arguments;
        hooks = field("java.lang.ApplicationShutdownHooks", "hooks");
        hooksOfJdk = new ArrayList<>();
        loaders.setAccessible(true);
        paths.setAccessible(true);
        for (String[] counter : COUNTERS) {
            Counter found = Counter.find(counter[0], counter[1]);
            if (found != null) counters.add(found);
        }
        Pool common = Pool.common();
        if (common != null) pools.add(common);
    }

    /** Static counters of the JDK that show in names, numbers and seeds. */
    private static final String[][] COUNTERS = {
        {"java.lang.Thread", "threadInitNumber"},
        {"java.lang.Thread$ThreadNumbering", "next"},
        {"java.util.Random", "seedUniquifier"},
        {"java.util.Timer", "nextSerialNumber"},
        {"java.util.SplittableRandom", "defaultGen"},
        {"java.util.concurrent.Executors$DefaultThreadFactory", "poolNumber"},
        {"java.util.concurrent.ForkJoinPool", "poolIds"},
        {"java.util.concurrent.ThreadLocalRandom", "seeder"},
        {"java.util.concurrent.ThreadLocalRandom", "probeGenerator"},
        {"java.lang.invoke.InnerClassLambdaMetafactory", "counter"},
        {"java.lang.reflect.Proxy$ProxyBuilder", "nextUniqueNumber"},
        {"jdk.internal.reflect.MethodAccessorGenerator", "methodSymnum"},
        {"jdk.internal.reflect.MethodAccessorGenerator", "constructorSymnum"},
        {"jdk.internal.reflect.MethodAccessorGenerator", "serializationConstructorSymnum"},
    };

    /** Called by the launcher before it loads the main class. Comes back at once if this JVM makes one run. */
    public static void serve(int mode, String what) {
        if (!isServing) return;
        UntornServer server = null;
        try {
            server = make(mode, what);
        } catch (Throwable fault) {
            refuse(fault.toString());
        }
        if (server == null) Runtime.getRuntime().halt(0);
        ready();
        try {
            while (next()) server.run();
        } catch (Throwable fault) {
            broken(fault.toString());
        }
        Runtime.getRuntime().halt(0);
    }

    private static UntornServer make(int mode, String what) throws Exception {
        String[] arguments = arguments(System.getProperty("sun.java.command"));
        String main = what;
        if (mode == JAR) {
            main = mainOfJar(what);
        } else if (mode != CLASS) {
            refuse("the program is started as a module or from its source");
            return null;
        }
        if (main == null || arguments == null) {
            refuse("the main class or the arguments are not to be found out");
            return null;
        }
        if (System.getSecurityManager() != null || System.getProperty("java.system.class.loader") != null) {
            refuse("the program has a security manager or a system class loader of its own");
            return null;
        }
        return new UntornServer(main.replace('/', '.'), arguments);
    }

    /** Null if the jar wants more than its main class to be started. */
    private static String mainOfJar(String path) throws java.io.IOException {
        try (java.util.jar.JarFile jar = new java.util.jar.JarFile(path)) {
            java.util.jar.Attributes attributes = jar.getManifest().getMainAttributes();
            for (String more : new String[] {"Launcher-Agent-Class", "Add-Exports", "Add-Opens"}) {
                if (attributes.getValue(more) != null) return null;
            }
            return attributes.getValue("Main-Class").trim();
        }
    }

    /** The words behind the main class: the end of the command line that the JVM itself has put together as one text. */
    private static String[] arguments(String command) throws java.io.IOException {
        String[] words;
        try (FileInputStream line = new FileInputStream("/proc/self/cmdline")) {
            words = new String(line.readAllBytes()).split("\0", -1);
        }
        String tail = null;
        for (int at = words.length - 2; at > 0; at--) {
            tail = tail == null ? words[at] : words[at] + " " + tail;
            if (tail.equals(command)) return java.util.Arrays.copyOfRange(words, at + 1, words.length - 1);
        }
        return null;
    }

    /** One run, on the JVM's first thread, which is not the one that the program knows as {@code main}. */
    private void run() throws Exception {
        URLClassPath path = (URLClassPath) paths.newInstance(classPath, false);
        ClassLoader loader = (ClassLoader) loaders.newInstance(parent, path);
        if (group != null && !group.isDestroyed() && group.activeCount() == 0) group.destroy();
        group = new ThreadGroup(system, "main");
        reset();
        String[] own = replaced == null ? arguments : replaced.split(SEPARATOR, -1);
        run(mainClass, own, group, loader);
        String change = runHooks();
        deleteFiles();
        path.closeLoaders();
        if (methodTypes != null) methodTypes.forgetThoseOf(parent);
        ended(change);
    }

    /** Whether the program has hooks. Those of the JDK are put aside: what they end is needed in the next run. */
    private static boolean hasOwnHooks() {
        UntornProbe.suspendRecording();
        try {
            Map<?, ?> registered = (Map<?, ?>) hooks.get(null);
            if (registered == null) return false;
            synchronized (hooks.getDeclaringClass()) {
                for (Object hook : new ArrayList<Object>(registered.keySet())) {
                    Class<?> kind = hook.getClass();
                    if (kind == Thread.class || kind.getClassLoader() != null) continue;
                    registered.remove(hook);
                    hooksOfJdk.add((Thread) hook);
                }
            }
            return !registered.isEmpty();
        } catch (ReflectiveOperationException missing) {
            return false;
        } finally {
            UntornProbe.resumeRecording();
        }
    }

    /** The handlers and levels of {@code java.util.logging} become what they are in a new JVM, if it was ever used. */
    private static void resetLogging() throws Exception {
        for (Thread hook : hooksOfJdk) {
            if (!hook.getClass().getName().startsWith(LOGGING)) continue;
            Class<?> kind = Class.forName(LOGGING, true, null);
            kind.getMethod("readConfiguration").invoke(kind.getMethod("getLogManager").invoke(null));
        }
    }

    /** What the JVM does when it ends: starts all hooks, and waits for them. What has changed for good; null if nothing. */
    private String runHooks() throws Exception {
        // They may have run already.
        if (!hasOwnHooks()) return null;
        Map<?, ?> registered = (Map<?, ?>) hooks.get(null);
        List<Thread> threads = new ArrayList<>();
        synchronized (hooks.getDeclaringClass()) {
            for (Object hook : registered.keySet()) threads.add((Thread) hook);
            hooks.set(null, null);
        }
        if (isHalted) threads.clear();
        for (Thread hook : threads) hook.start();
        long end = System.nanoTime() + LONGEST_HOOK * 1_000_000L;
        for (Thread hook : threads) {
            hook.join(Math.max(1, (end - System.nanoTime()) / 1_000_000));
            if (hook.isAlive()) return "one of its shutdown hooks does not end";
        }
        return null;
    }

    /** The files that a JVM deletes when it ends, the last first. */
    private void deleteFiles() throws Exception {
        java.util.Collection<?> registered = (java.util.Collection<?>) files.get(null);
        if (registered == null || registered.isEmpty()) return;
        List<Object> names = new ArrayList<>(registered);
        files.set(null, new java.util.LinkedHashSet<>());
        if (isHalted) return;
        for (int at = names.size() - 1; at >= 0; at--) new java.io.File((String) names.get(at)).delete();
    }

    private void reset() throws Exception {
        isHalted = false;
        Map<Thread, Thread> registered = new java.util.IdentityHashMap<>();
        for (Thread hook : hooksOfJdk) registered.put(hook, hook);
        hooks.set(null, registered);
        for (Counter counter : counters) counter.reset();
        for (Pool pool : pools) pool.reset();
        Thread.setDefaultUncaughtExceptionHandler(null);
        Locale.setDefault(locale);
        Locale.setDefault(Locale.Category.DISPLAY, locales[0]);
        Locale.setDefault(Locale.Category.FORMAT, locales[1]);
        TimeZone.setDefault(null);
        UntornProbe.reset();
        UntornAtomics.reset();
        UntornOffsets.reset();
        UntornArrays.reset();
        UntornCollections.reset();
        // Put one by one, as the JVM does: how large the table is shows in the monitors that it takes.
        Properties properties = new Properties();
        original.forEach(properties::put);
        System.setProperties(properties);
        System.setIn(new java.io.BufferedInputStream(new FileInputStream(java.io.FileDescriptor.in)));
        System.setOut(stream(java.io.FileDescriptor.out, "stdout.encoding", "sun.stdout.encoding"));
        System.setErr(stream(java.io.FileDescriptor.err, "stderr.encoding", "sun.stderr.encoding"));
        resetLogging();
        hooksOfJdk.clear();
    }

    private java.io.PrintStream stream(java.io.FileDescriptor to, String name, String older) throws Exception {
        String encoding = original.getProperty(name);
        if (encoding == null) encoding = original.getProperty(older);
        return (java.io.PrintStream) printStreams.invoke(null, new java.io.FileOutputStream(to), encoding);
    }

    /** The program calls {@code System.exit}, or {@code halt}, which runs no hooks: never returns. */
    static void programEnds(int code, boolean halts) {
        isHalted = halts;
        // In the thread that ends the program, and under control, as the JDK does it.
        if (!halts && hasOwnHooks()) ApplicationShutdownHooks.runHooks();
        exited(code);
    }

    /** On the new thread of the run, before it begins. The first thread of a JVM has the number 1. */
    private static Class<?> prepare(ClassLoader loader, String mainClass) throws Exception {
        Thread thread = Thread.currentThread();
        thread.setContextClassLoader(loader);
        Unsafe unsafe = Unsafe.getUnsafe();
        unsafe.putLong(thread, unsafe.objectFieldOffset(Thread.class, "tid"), 1);
        Class<?> main = Class.forName(mainClass, false, loader);
        main.getMethod("main", String[].class);
        return main;
    }

    private static Field field(String inClass, String name) {
        try {
            Field field = Class.forName(inClass).getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException missing) {
            return null;
        }
    }

    private static Method method(Class<?> inClass, String name) throws NoSuchMethodException {
        for (Method method : inClass.getDeclaredMethods()) {
            if (method.getName().equals(name)) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new NoSuchMethodException(name);
    }

    private static Constructor<?> onlyConstructor(String inClass) throws ClassNotFoundException {
        return Class.forName(inClass).getDeclaredConstructors()[0];
    }

    /** Says that this JVM waits for requests, or why it does not. */
    private static native void ready();

    private static native void refuse(String why);

    /** Waits for a request; false if there will be none. */
    private static native boolean next();

    /** Runs the program to its end. */
    private static native void run(String mainClass, String[] arguments, ThreadGroup group, ClassLoader loader);

    /** Answers the request. */
    private static native void ended(String change);

    private static native void broken(String why);

    /** The program is over for the thread that calls this; never returns. */
    private static native void exited(int code);

    /**
     * A pool of threads that the JDK keeps in a static field. Its threads belong to an earlier run, and wait for a turn that never
     * comes. It becomes a new pool: each of its fields becomes that of one.
     */
    private static final class Pool {
        private final Object pool;
        private final Constructor<?> maker;

        private Pool(Object pool, Constructor<?> maker) {
            this.pool = pool;
            this.maker = maker;
        }

        /** The common pool; null if this release of the JDK makes it in another way. */
        static Pool common() {
            try {
                Class<?> kind = java.util.concurrent.ForkJoinPool.class;
                Constructor<?> maker = kind.getDeclaredConstructor(byte.class);
                maker.setAccessible(true);
                Field common = UntornServer.field(kind.getName(), "common");
                return common == null ? null : new Pool(common.get(null), maker);
            } catch (ReflectiveOperationException missing) {
                return null;
            }
        }

        void reset() throws ReflectiveOperationException {
            Object fresh = maker.newInstance((byte) 0);
            for (Class<?> in = pool.getClass(); in != null; in = in.getSuperclass()) {
                for (Field field : in.getDeclaredFields()) {
                    if (java.lang.reflect.Modifier.isStatic(field.getModifiers())) continue;
                    field.setAccessible(true);
                    field.set(pool, field.get(fresh));
                }
            }
        }
    }

    /**
     * The set in which the JDK keeps one object for each method type. Its weak references are kept alive like all others, so it
     * would hold the classes of all earlier runs; and since the classes of each run have the same identities, the types of all
     * runs have the same hash codes, and to look for one would take longer with each run.
     */
    private static final class MethodTypes {
        private final Map<?, ?> all;

        private MethodTypes(Map<?, ?> all) {
            this.all = all;
        }

        /** Null if this release of the JDK keeps them in another way. */
        static MethodTypes find() {
            try {
                Field table = UntornServer.field("java.lang.invoke.MethodType", "internTable");
                if (table == null) return null;
                Field map = UntornServer.field(table.get(null).getClass().getName(), "map");
                return map == null ? null : new MethodTypes((Map<?, ?>) map.get(table.get(null)));
            } catch (ReflectiveOperationException | ClassCastException other) {
                return null;
            }
        }

        /** Nobody can ask for a type with a class of an ended run again: those classes are gone. */
        void forgetThoseOf(ClassLoader platform) {
            for (java.util.Iterator<?> entries = all.keySet().iterator(); entries.hasNext(); ) {
                Object entry = entries.next();
                if (entry instanceof Reference && isOf((Reference<?>) entry, platform)) entries.remove();
            }
        }

        private static boolean isOf(Reference<?> entry, ClassLoader platform) {
            Object type = entry.get();
            if (!(type instanceof MethodType)) return type == null;
            MethodType of = (MethodType) type;
            if (isOwn(of.returnType(), platform)) return true;
            for (int at = 0; at < of.parameterCount(); at++) {
                if (isOwn(of.parameterType(at), platform)) return true;
            }
            return false;
        }

        /** Whether a class is one of the program, or an array of them. */
        private static boolean isOwn(Class<?> type, ClassLoader platform) {
            ClassLoader loader = type.getClassLoader();
            return loader != null && loader != platform;
        }
    }

    /** A static counter and what it was before the first run. */
    private static final class Counter {
        private final Object base;
        private final long offset;
        private final Class<?> kind;
        private final long initial;

        private Counter(Object base, long offset, Class<?> kind) {
            this.base = base;
            this.offset = offset;
            this.kind = kind;
            initial = get();
        }

        /** Null if this release of the JDK has no such counter. */
        static Counter find(String inClass, String name) {
            Field field = UntornServer.field(inClass, name);
            if (field == null) return null;
            Unsafe unsafe = Unsafe.getUnsafe();
            Object base = unsafe.staticFieldBase(field);
            long offset = unsafe.staticFieldOffset(field);
            Class<?> type = field.getType();
            boolean isKnown = type == int.class || type == short.class || type == long.class
                || type == AtomicInteger.class || type == AtomicLong.class;
            return isKnown ? new Counter(base, offset, type) : null;
        }

        private long get() {
            Unsafe unsafe = Unsafe.getUnsafe();
            if (kind == int.class) return unsafe.getInt(base, offset);
            if (kind == short.class) return unsafe.getShort(base, offset);
            if (kind == long.class) return unsafe.getLong(base, offset);
            return ((Number) unsafe.getReferenceVolatile(base, offset)).longValue();
        }

        void reset() {
            Unsafe unsafe = Unsafe.getUnsafe();
            if (kind == int.class) {
                unsafe.putInt(base, offset, (int) initial);
            } else if (kind == short.class) {
                unsafe.putShort(base, offset, (short) initial);
            } else if (kind == long.class) {
                unsafe.putLong(base, offset, initial);
            } else if (kind == AtomicInteger.class) {
                ((AtomicInteger) unsafe.getReferenceVolatile(base, offset)).set((int) initial);
            } else {
                ((AtomicLong) unsafe.getReferenceVolatile(base, offset)).set(initial);
            }
        }
    }
}
