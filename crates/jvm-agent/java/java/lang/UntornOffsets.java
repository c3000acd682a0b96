package java.lang;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import jdk.internal.misc.Unsafe;

/**
 * Probes of {@code sun.misc.Unsafe}: fields and elements of arrays, reached by an object and an offset in it. As with
 * {@link UntornAtomics}, the program calls the JDK unchanged, and no other controlled thread runs between the call and
 * its probes.
 *
 * <p>A field is known if the program asked for its offset; an element, if the offset is that of an element, and the
 * operation is of the element's type. Everything else (memory outside of objects, an array of bytes read as numbers)
 * is counted.
 *
 * <p>The sites of an operation are consecutive: those of a field, those of an element, and the one that counts.
 */
public final class UntornOffsets {
    /** Sites of an update: its read, its write, and the read of an update that failed. */
    private static final int UPDATE = 3;
    private static final int WRITTEN = 1;
    private static final int FAILED = 2;

    /** Fields whose offsets the program has asked for. There are few, and entries are never removed. */
    private static Field[] fields;
    private static long[] offsets;
    private static int[] numbers;
    private static int count;

    /** The value before the current operation, and the thread that performs it. */
    private static long old;
    private static Thread asked;

    /** The results of {@link #resolve}. */
    private static boolean isElement;
    private static int object;
    private static int slot;
    private static long value;

    private UntornOffsets() {}

    // ---- where fields are ----

    /** The program has asked for the offset of a field. */
    public static void located(long offset, Field field) {
        if (field == null || !UntornProbe.ready) return;
        UntornProbe.suspendRecording();
        try {
            note(offset, field);
        } finally {
            UntornProbe.resumeRecording();
        }
    }

    public static void located(long offset, Class<?> inClass, String name) {
        if (!UntornProbe.ready) return;
        UntornProbe.suspendRecording();
        try {
            note(offset, inClass.getDeclaredField(name));
        } catch (ReflectiveOperationException | RuntimeException | LinkageError unknown) {
            // Accesses at this offset are counted.
        } finally {
            UntornProbe.resumeRecording();
        }
    }

    private static synchronized void note(long offset, Field field) {
        if (fields == null || count == fields.length) grow(2 * count + 16);
        String inClass = field.getDeclaringClass().getName();
        String type = UntornValues.descriptor(field.getType());
        numbers[count] = UntornProbe.fieldNumber(inClass, field.getName(), type, UntornProbe.FIELD);
        offsets[count] = offset;
        fields[count] = field;
        count++;
    }

    private static void grow(int size) {
        Field[] moreFields = new Field[size];
        long[] moreOffsets = new long[size];
        int[] moreNumbers = new int[size];
        for (int i = 0; i < count; i++) {
            moreFields[i] = fields[i];
            moreOffsets[i] = offsets[i];
            moreNumbers[i] = numbers[i];
        }
        fields = moreFields;
        offsets = moreOffsets;
        numbers = moreNumbers;
    }

    /** Nothing of an earlier run is left. */
    static synchronized void reset() {
        fields = null;
        offsets = null;
        numbers = null;
        count = 0;
        asked = null;
    }

    // ---- operations; the type is a number of {@link UntornValues#type} ----

    /** Before an operation that reads and writes. */
    public static void before(Object holder, long offset, int type) {
        if (!UntornProbe.here()) return;
        asked = resolve(holder, offset, type) ? Thread.currentThread() : null;
        old = value;
    }

    /** After an operation that reads or writes; the site determines which. */
    public static void accessed(Object holder, long offset, int type, int site) {
        if (!UntornProbe.here()) return;
        if (resolve(holder, offset, type)) {
            UntornProbe.put(isElement ? site + 1 : site, object, value, slot);
        } else {
            UntornProbe.put(site + 2, 0, 1, 0);
        }
    }

    /** After an operation that read and wrote. */
    public static void updated(Object holder, long offset, int type, int site) {
        swapped(true, holder, offset, type, site);
    }

    /** After an operation that returns the old value. If the value did not change, it only read. */
    public static void exchanged(Object holder, long offset, int type, int site) {
        if (UntornProbe.here()) recordUpdate(resolve(holder, offset, type), value != old, site);
    }

    /** After an operation that wrote if {@code done}. */
    public static void swapped(boolean done, Object holder, long offset, int type, int site) {
        if (UntornProbe.here()) recordUpdate(resolve(holder, offset, type), done, site);
    }

    private static void recordUpdate(boolean known, boolean done, int site) {
        int first = isElement ? site + UPDATE : site;
        if (!known) {
            UntornProbe.put(site + 2 * UPDATE, 0, 1, 0);
        } else if (done && asked == Thread.currentThread()) {
            long now = value;
            UntornProbe.putFirst(first, object, old, slot);
            UntornProbe.put(first + WRITTEN, object, now, slot);
        } else {
            UntornProbe.put(first + FAILED, object, value, slot);
        }
    }

    /** Determines the variable of an operation, without recording anything; false if it is not known. */
    private static boolean resolve(Object holder, long offset, int type) {
        if (holder == null) return false; // the offset is an address
        UntornProbe.suspendRecording();
        try {
            isElement = holder.getClass().isArray();
            return isElement ? resolveElement(holder, offset, type) : resolveField(holder, offset, type);
        } finally {
            UntornProbe.resumeRecording();
        }
    }

    private static boolean resolveElement(Object array, long offset, int type) {
        if (UntornValues.type(array) != type) return false;
        Unsafe unsafe = Unsafe.getUnsafe();
        long from = offset - unsafe.arrayBaseOffset(array.getClass());
        int scale = unsafe.arrayIndexScale(array.getClass());
        if (from < 0 || from % scale != 0 || from / scale >= java.lang.reflect.Array.getLength(array)) return false;
        slot = (int) (from / scale);
        object = UntornValues.id(array);
        value = UntornValues.element(array, slot);
        return true;
    }

    private static boolean resolveField(Object holder, long offset, int type) {
        for (int i = 0; i < count; i++) {
            Field field = fields[i];
            if (offsets[i] != offset || !isIn(field, holder)) continue;
            if (UntornValues.typeOf(field.getType()) != type) return false;
            object = Modifier.isStatic(field.getModifiers()) ? 0 : UntornValues.id(holder);
            slot = numbers[i];
            value = UntornValues.at(holder, offset, field.getType());
            return true;
        }
        return false;
    }

    private static boolean isIn(Field field, Object holder) {
        boolean isStatic = Modifier.isStatic(field.getModifiers());
        return isStatic ? holder == field.getDeclaringClass() : field.getDeclaringClass().isInstance(holder);
    }
}
