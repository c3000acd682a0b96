package java.lang;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import jdk.internal.misc.Unsafe;

/**
 * Probes of accesses that have no field or array instruction: reflection and array copies. As with {@link
 * UntornAtomics}, the program calls the JDK unchanged, and the probe records the access after the call.
 *
 * <p>The sites of elements are consecutive, ordered by {@link UntornValues#type}, read before write; the last site is
 * for elements that are not recorded.
 */
public final class UntornArrays {
    /** Elements of a copied array that are recorded one by one. Of the others only their number is recorded. */
    static final int MAX_ELEMENTS = 256;

    private static final int LEFT_OUT = 16;

    private UntornArrays() {}

    /** After a method of {@code Field} that reads or writes; the site determines which. */
    public static void reflected(Field field, Object holder, int site) {
        if (!UntornProbe.here()) return;
        Unsafe unsafe = Unsafe.getUnsafe();
        boolean isStatic = Modifier.isStatic(field.getModifiers());
        long value;
        int number;
        UntornProbe.suspendRecording();
        try {
            Object base = isStatic ? unsafe.staticFieldBase(field) : holder;
            long offset = isStatic ? unsafe.staticFieldOffset(field) : unsafe.objectFieldOffset(field);
            Class<?> type = field.getType();
            value = UntornValues.at(base, offset, type);
            String inClass = field.getDeclaringClass().getName();
            number = UntornProbe.fieldNumber(inClass, field.getName(), UntornValues.descriptor(type), UntornProbe.FIELD);
        } catch (RuntimeException refused) {
            return;
        } finally {
            UntornProbe.resumeRecording();
        }
        UntornProbe.put(site, isStatic ? 0 : UntornValues.id(holder), value, number);
    }

    /** After {@code Array.get} and its variants. */
    public static void read(Object array, int index, int site) {
        if (UntornProbe.here()) recordElement(array, index, site);
    }

    /** After {@code Array.set} and its variants. */
    public static void written(Object array, int index, int site) {
        if (UntornProbe.here()) recordElement(array, index, site + 1);
    }

    private static void recordElement(Object array, int index, int site) {
        long value = UntornValues.element(array, index);
        UntornProbe.put(site + 2 * UntornValues.type(array), UntornValues.id(array), value, index);
    }

    /**
     * After {@code System.arraycopy}. The values read are those now in the target, even if the target is the source.
     */
    public static void copied(Object from, int first, Object to, int start, int count, int site) {
        if (!UntornProbe.here() || count <= 0) return;
        int recorded = Math.min(count, MAX_ELEMENTS);
        int reads = site + 2 * UntornValues.type(from);
        int writes = site + 2 * UntornValues.type(to) + 1;
        int source = UntornValues.id(from);
        int target = UntornValues.id(to);
        leftOut(count - recorded, site);
        for (int i = 0; i < recorded - 1; i++) {
            long value = UntornValues.element(to, start + i);
            UntornProbe.putFirst(reads, source, value, first + i);
            UntornProbe.putFirst(writes, target, value, start + i);
        }
        long last = UntornValues.element(to, start + recorded - 1);
        UntornProbe.putFirst(reads, source, last, first + recorded - 1);
        UntornProbe.put(writes, target, last, start + recorded - 1);
    }

    /** After {@code System.arraycopy} into an array that no other thread can reach yet: only the reads are recorded. */
    public static void copiedOut(Object from, int first, Object to, int start, int count, int site) {
        if (UntornProbe.here() && count > 0) readAll(from, first, count, site);
    }

    /** After an object was cloned that is an array, or perhaps one. */
    public static void cloned(Object array, int site) {
        if (!UntornProbe.here() || !array.getClass().isArray()) return;
        int length = Array.getLength(array);
        if (length > 0) readAll(array, 0, length, site);
    }

    // ---- methods of Arrays, recorded where they are called ----

    /** After {@code Arrays.copyOf}. */
    public static void copiedFirst(Object array, int length, int site) {
        copiedRange(array, 0, length, site);
    }

    /** After {@code Arrays.copyOfRange}; the copy may be longer than the array. */
    public static void copiedRange(Object array, int from, int to, int site) {
        if (!UntornProbe.here()) return;
        int count = Math.min(to, Array.getLength(array)) - from;
        if (count > 0) readAll(array, from, count, site);
    }

    /** After two arrays were compared. */
    public static void compared(Object one, Object other, int site) {
        if (!UntornProbe.here() || one == null || other == null || one == other) return;
        int count = Math.min(Array.getLength(one), Array.getLength(other));
        if (count == 0) return;
        readAll(one, 0, count, site);
        readAll(other, 0, count, site);
    }

    /** Before a part of an array is sorted: it is read. The thread keeps the token until the method itself has read it. */
    public static void toSort(Object array, int from, int to, int site) {
        if (!UntornProbe.here() || !isPart(array, from, to)) return;
        UntornProbe.endStep(); // a method that throws has no records after the call
        int recorded = Math.min(to - from, MAX_ELEMENTS);
        int reads = site + 2 * UntornValues.type(array);
        int source = UntornValues.id(array);
        leftOut(to - from - recorded, site);
        for (int i = from; i < from + recorded; i++) {
            UntornProbe.putFirst(reads, source, UntornValues.element(array, i), i);
        }
    }

    public static void toSort(Object array, int site) {
        if (array != null) toSort(array, 0, Array.getLength(array), site);
    }

    /** After a part of an array was sorted: it is written. */
    public static void sorted(Object array, int from, int to, int site) {
        if (!UntornProbe.here() || !isPart(array, from, to)) return;
        int recorded = Math.min(to - from, MAX_ELEMENTS);
        int writes = site + 2 * UntornValues.type(array) + 1;
        int target = UntornValues.id(array);
        leftOut(to - from - recorded, site);
        for (int i = from; i < from + recorded; i++) {
            UntornProbe.putFirst(writes, target, UntornValues.element(array, i), i);
        }
        UntornProbe.endStep();
    }

    public static void sorted(Object array, int site) {
        if (array != null) sorted(array, 0, Array.getLength(array), site);
    }

    /** Otherwise the method throws. */
    private static boolean isPart(Object array, int from, int to) {
        return array != null && 0 <= from && from < to && to <= Array.getLength(array);
    }

    private static void readAll(Object array, int first, int count, int site) {
        int recorded = Math.min(count, MAX_ELEMENTS);
        int reads = site + 2 * UntornValues.type(array);
        int source = UntornValues.id(array);
        int last = first + recorded - 1;
        leftOut(count - recorded, site);
        for (int i = first; i < last; i++) UntornProbe.putFirst(reads, source, UntornValues.element(array, i), i);
        UntornProbe.put(reads, source, UntornValues.element(array, last), last);
    }

    // ---- copies of objects ----

    /** The fields of classes of which objects were cloned: read by a clone, with their offsets and numbers. */
    private static final class Layout {
        final Class<?> of;
        final Field[] fields;
        final long[] offsets;
        final int[] numbers;
        /** How many fields cannot be told. */
        int unknown;
        int count;

        Layout(Class<?> of, int most) {
            this.of = of;
            fields = new Field[most];
            offsets = new long[most];
            numbers = new int[most];
        }
    }

    private static Layout[] layouts;
    private static int known;

    /** After {@code Object.clone} of an object: the site of its fields, and the one that counts what is not known. */
    public static void copied(Object object, int site) {
        if (!UntornProbe.here() || object.getClass().isArray()) return;
        Layout layout;
        UntornProbe.suspendRecording();
        try {
            layout = layoutOf(object.getClass());
        } finally {
            UntornProbe.resumeRecording();
        }
        if (layout.unknown > 0) UntornProbe.putFirst(site + 1, 0, layout.unknown, 0);
        int id = UntornValues.id(object);
        for (int i = 0; i < layout.count; i++) {
            long value = UntornValues.at(object, layout.offsets[i], layout.fields[i].getType());
            UntornProbe.putFirst(site, id, value, layout.numbers[i]);
        }
        UntornProbe.endStep();
    }

    private static synchronized Layout layoutOf(Class<?> of) {
        for (int i = 0; i < known; i++) {
            if (layouts[i].of == of) return layouts[i];
        }
        Layout made = new Layout(of, MAX_ELEMENTS);
        for (Class<?> part = of; part != null; part = part.getSuperclass()) addFields(made, part);
        Layout[] more = new Layout[known + 1];
        for (int i = 0; i < known; i++) more[i] = layouts[i];
        more[known] = made;
        layouts = more;
        known++;
        return made;
    }

    private static void addFields(Layout layout, Class<?> part) {
        Field[] fields;
        try {
            fields = part.getDeclaredFields();
        } catch (LinkageError unknown) {
            layout.unknown++; // a type of a field is missing
            return;
        }
        Unsafe unsafe = Unsafe.getUnsafe();
        for (Field field : fields) {
            // Accesses of final fields do not conflict.
            if ((field.getModifiers() & (Modifier.STATIC | Modifier.FINAL)) != 0) continue;
            if (layout.count == MAX_ELEMENTS) {
                layout.unknown++;
                continue;
            }
            String type = UntornValues.descriptor(field.getType());
            int number = UntornProbe.fieldNumber(part.getName(), field.getName(), type, UntornProbe.FIELD);
            layout.fields[layout.count] = field;
            layout.offsets[layout.count] = unsafe.objectFieldOffset(field);
            layout.numbers[layout.count] = number;
            layout.count++;
        }
    }

    /** Nothing of an earlier run is left. */
    static synchronized void reset() {
        layouts = null;
        known = 0;
    }

    private static void leftOut(int count, int site) {
        if (count > 0) UntornProbe.putFirst(site + LEFT_OUT, 0, count, 0);
    }
}
