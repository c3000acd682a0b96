import java.lang.reflect.Field;
import sun.misc.Unsafe;

class Access {
    static final Unsafe UNSAFE;

    static {
        try {
            Field instance = Unsafe.class.getDeclaredField("theUnsafe");
            instance.setAccessible(true);
            UNSAFE = (Unsafe) instance.get(null);
        } catch (ReflectiveOperationException none) {
            throw new AssertionError(none);
        }
    }
}

/** One access of each kind. */
class Each {
    static final Unsafe UNSAFE = Access.UNSAFE;
    long wide;

    public static void main(String[] args) throws ReflectiveOperationException {
        var numbers = new int[4];
        long first = UNSAFE.arrayBaseOffset(int[].class);
        long scale = UNSAFE.arrayIndexScale(int[].class);
        UNSAFE.putInt(numbers, first + 2 * scale, 5);
        UNSAFE.getIntVolatile(numbers, first + 2 * scale);
        UNSAFE.compareAndSwapInt(numbers, first + 2 * scale, 5, 6);
        UNSAFE.compareAndSwapInt(numbers, first + 2 * scale, 5, 7);
        UNSAFE.getAndAddInt(numbers, first + 3 * scale, 9);
        UNSAFE.putOrderedInt(numbers, first, 1);
        var flags = new boolean[2];
        UNSAFE.putBooleanVolatile(flags, UNSAFE.arrayBaseOffset(boolean[].class) + 1, true);
        var each = new Each();
        long wide = UNSAFE.objectFieldOffset(Each.class.getDeclaredField("wide"));
        UNSAFE.getAndSetLong(each, wide, 3L);
        UNSAFE.getLong(each, wide);
    }
}

/** Accesses that are of no one variable. */
class Unknown {
    public static void main(String[] args) {
        Unsafe unsafe = Access.UNSAFE;
        var bytes = new byte[16];
        long first = unsafe.arrayBaseOffset(byte[].class);
        unsafe.putLong(bytes, first, 7L);
        unsafe.getInt(bytes, first + 1);
        long memory = unsafe.allocateMemory(8);
        unsafe.putLong(null, memory, 1L);
        unsafe.putLong(memory, 1L);
        unsafe.freeMemory(memory);
    }
}

/** A table of names; the first to claim a place has it. */
class Table {
    static final Unsafe UNSAFE = Access.UNSAFE;
    static final long FIRST = UNSAFE.arrayBaseOffset(Object[].class);
    static final long SCALE = UNSAFE.arrayIndexScale(Object[].class);
    final Object[] places = new Object[8];

    /** Another thread may claim the place between the look and the claim. */
    boolean claim(int place, Object owner) {
        long at = FIRST + place * SCALE;
        if (UNSAFE.getObjectVolatile(places, at) != null) return false;
        UNSAFE.putOrderedObject(places, at, owner);
        return true;
    }

    boolean claimAtOnce(int place, Object owner) {
        return UNSAFE.compareAndSwapObject(places, FIRST + place * SCALE, null, owner);
    }
}

class TornTable {
    public static void main(String[] args) throws InterruptedException {
        var table = new Table();
        var claimed = new boolean[2];
        Thread one = new Thread(() -> claimed[0] = table.claim(3, "one"));
        Thread two = new Thread(() -> claimed[1] = table.claim(3, "two"));
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.println(claimed[0] && claimed[1] ? "both" : "one");
    }
}

class WholeTable {
    public static void main(String[] args) throws InterruptedException {
        var table = new Table();
        var claimed = new boolean[2];
        Thread one = new Thread(() -> claimed[0] = table.claimAtOnce(3, "one"));
        Thread two = new Thread(() -> claimed[1] = table.claimAtOnce(3, "two"));
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.println(claimed[0] && claimed[1] ? "both" : "one");
    }
}
