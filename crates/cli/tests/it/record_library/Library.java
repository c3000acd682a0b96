
import java.lang.invoke.*;
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

class Scalars {
    public static void main(String[] args) {
        var number = new AtomicInteger(5);
        number.get();
        number.set(7);
        number.incrementAndGet();
        number.getAndAdd(10);
        number.compareAndSet(18, 20);
        number.compareAndSet(18, 21);
        number.compareAndExchange(20, 22);
        number.compareAndExchange(20, 23);
        var flag = new AtomicBoolean();
        flag.getAndSet(true);
        var cells = new AtomicLongArray(3);
        cells.addAndGet(2, -4);
        cells.lazySet(1, 1L << 40);
        var sum = new LongAdder();
        sum.add(3);
        sum.sum();
    }
}

class Holdings {
    enum Colour { RED }

    public static void main(String[] args) {
        Map<Object, Object> map = new ConcurrentHashMap<>();
        map.get("a");
        map.put("a", 1);
        map.putIfAbsent("a", 2);
        map.computeIfAbsent("b.c", key -> 3);
        map.computeIfAbsent("b.c", key -> 4);
        map.remove("none");
        map.put(Colour.RED, 5);
        map.size();
        Queue<Integer> queue = new ConcurrentLinkedQueue<>();
        queue.poll();
        queue.add(1);
        queue.remove();
        try { queue.remove(); } catch (NoSuchElementException expected) { }
        List<Integer> list = new ArrayList<>();
        list.add(1);
    }
}

class Functions {
    public static void main(String[] args) {
        var number = new AtomicInteger(5);
        number.updateAndGet(x -> x * 2);
        number.getAndAccumulate(3, (x, y) -> x - y);
    }
}

class Handles {
    volatile int count;
    double part;
    static char letter = 'a';

    public static void main(String[] args) throws ReflectiveOperationException {
        var updater = AtomicIntegerFieldUpdater.newUpdater(Handles.class, "count");
        var lookup = MethodHandles.lookup();
        VarHandle part = lookup.findVarHandle(Handles.class, "part", double.class);
        VarHandle letter = lookup.findStaticVarHandle(Handles.class, "letter", char.class);
        VarHandle element = MethodHandles.arrayElementVarHandle(long[].class);
        var object = new Handles();
        updater.incrementAndGet(object);
        updater.compareAndSet(object, 0, 9);
        object.count = 4;
        part.set(object, 0.5);
        double seen = (double) part.getVolatile(object);
        boolean done = letter.compareAndSet('a', 'b');
        long[] row = {1, 2};
        long old = (long) element.getAndAdd(row, 1, 5L);
    }
}

class FieldHandles {
    int count;
    volatile long wide;
    double part;
    static String name = "a";

    public static void main(String[] args) throws Throwable {
        var lookup = MethodHandles.lookup();
        var object = new FieldHandles();
        MethodHandle count = lookup.findGetter(FieldHandles.class, "count", int.class);
        MethodHandle setCount = lookup.findSetter(FieldHandles.class, "count", int.class);
        MethodHandle setWide = lookup.findSetter(FieldHandles.class, "wide", long.class);
        MethodHandle part = lookup.unreflectGetter(FieldHandles.class.getDeclaredField("part"));
        MethodHandle name = lookup.findStaticGetter(FieldHandles.class, "name", String.class);
        MethodHandle setName = lookup.findStaticSetter(FieldHandles.class, "name", String.class);
        MethodHandle method = lookup.findVirtual(Object.class, "hashCode", MethodType.methodType(int.class));
        setCount.invokeExact(object, 7);
        int seen = (int) count.invokeExact(object);
        setWide.invokeExact(object, 1L << 40);
        Object boxed = count.invoke(object);
        double half = (double) part.invokeExact(object);
        setName.invokeExact("b");
        String text = (String) name.invokeExact();
        int hash = (int) method.invoke((Object) text);
    }
}

class Offsets {
    volatile int count;
    static int shared;

    public static void main(String[] args) throws ReflectiveOperationException {
        Field instance = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        instance.setAccessible(true);
        var unsafe = (sun.misc.Unsafe) instance.get(null);
        Field shared = Offsets.class.getDeclaredField("shared");
        long count = unsafe.objectFieldOffset(Offsets.class.getDeclaredField("count"));
        long offset = unsafe.staticFieldOffset(shared);
        var object = new Offsets();
        unsafe.putOrderedInt(object, count, 3);
        unsafe.getAndAddInt(object, count, 4);
        unsafe.compareAndSwapInt(object, count, 3, 5);
        unsafe.putInt(unsafe.staticFieldBase(shared), offset, 8);
        long memory = unsafe.allocateMemory(8);
        unsafe.putInt(memory, 1);
        unsafe.freeMemory(memory);
    }
}

class References {
    public static void main(String[] args) {
        var number = new AtomicInteger(5);
        java.util.function.IntSupplier next = number::incrementAndGet;
        java.util.function.ToIntFunction<AtomicInteger> value = AtomicInteger::get;
        next.getAsInt();
        value.applyAsInt(number);
    }
}

class Sections {
    int x;
    final ReentrantLock lock = new ReentrantLock();

    void twice() {
        lock.lock();
        lock.lock();
        x = 1;
        lock.unlock();
        lock.unlock();
    }

    void tried() {
        if (lock.tryLock()) {
            x = 2;
            lock.unlock();
        }
    }

    void thrown() {
        lock.lock();
        try {
            throw new IllegalStateException();
        } finally {
            lock.unlock();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var sections = new Sections();
        sections.twice();
        sections.tried();
        try {
            sections.thrown();
        } catch (IllegalStateException expected) {
            sections.lock.lock();
        }
        var other = new Thread(sections::tried, "other");
        other.start();
        other.join();
        sections.lock.unlock();
    }
}

class Crossed {
    static int x;

    public static void main(String[] args) {
        var first = new ReentrantLock();
        var second = new ReentrantLock();
        first.lock();
        x = 1;
        second.lock();
        x = 2;
        first.unlock();
        x = 3;
        second.unlock();
    }
}

class Shared {
    public static void main(String[] args) {
        var both = new ReentrantReadWriteLock();
        both.writeLock().lock();
        both.readLock().lock();
        both.writeLock().unlock();
        both.readLock().unlock();
        var stamps = new StampedLock();
        long stamp = stamps.readLock();
        stamp = stamps.tryConvertToWriteLock(stamp);
        stamps.unlock(stamp);
        stamps.unlock(stamps.tryReadLock());
    }
}

class Conditions {
    static boolean told;
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition changed = lock.newCondition();

    public static void main(String[] args) throws InterruptedException {
        var teller = new Thread(Conditions::tell, "teller");
        lock.lock();
        lock.lock();
        teller.start();
        while (!told) {
            changed.await();
        }
        lock.unlock();
        lock.unlock();
        teller.join();
    }

    static void tell() {
        lock.lock();
        told = true;
        changed.signalAll();
        lock.unlock();
    }
}

class Reflected {
    private int number = 1;
    static long global = 2;

    public static void main(String[] args) throws ReflectiveOperationException {
        var object = new Reflected();
        Field number = Reflected.class.getDeclaredField("number");
        Field global = Reflected.class.getDeclaredField("global");
        number.setInt(object, 4);
        number.get(object);
        global.setLong(null, 1L << 33);
        int[] row = new int[2];
        Array.setInt(row, 1, 6);
        Array.get(row, 1);
    }
}

class Copied {
    static int[] from = new int[1000];
    static int[] to = new int[1000];

    public static void main(String[] args) {
        from[0] = 1;
        from[1] = 2;
        System.arraycopy(from, 0, to, 5, 2);
        from.clone();
        System.arraycopy(from, 0, to, 0, 1000);
    }
}
