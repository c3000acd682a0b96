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

    /** After an array was cloned. */
    public static void cloned(Object array, int site) {
        if (UntornProbe.here() && Array.getLength(array) > 0) readAll(array, 0, Array.getLength(array), site);
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

    private static void leftOut(int count, int site) {
        if (count > 0) UntornProbe.putFirst(site + LEFT_OUT, 0, count, 0);
    }
}
