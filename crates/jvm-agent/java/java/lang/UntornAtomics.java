package java.lang;

import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicLongFieldUpdater;
import java.util.concurrent.atomic.AtomicMarkableReference;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.atomic.AtomicStampedReference;
import java.util.concurrent.atomic.DoubleAccumulator;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/**
 * Probes of atomic variables, field updaters and variable handles. The JDK's classes are not rewritten; rewritten
 * classes call them unchanged and record the effect here.
 *
 * <p>No code of the program and no other controlled thread runs between such a call and its probe. A probe after the
 * call can therefore look up the value that was read or written, and a probe before it the old value. Threads without
 * the token record nothing. No exception leaves a probe.
 *
 * <p>An operation is identified by its target (the atomic variable, updater or handle), the object that has the field
 * (or null), and the index (negative if there is none).
 */
public final class UntornAtomics {
    // An update has three sites: its read, its write, and the read of an update that failed. The last site of every
    // operation counts those whose variable is not known.
    private static final int WRITTEN = 1;
    private static final int FAILED = 2;
    private static final int UNKNOWN = 3;

    /** The value before the current operation, and the thread that performs it. */
    private static long old;
    private static Thread asked;

    /** The results of {@link #resolve}. */
    private static int object;
    private static int slot;
    private static long value;

    private UntornAtomics() {}

    /** Before an operation that reads and writes. */
    public static void before(Object target, Object holder, int index) {
        if (!UntornProbe.here()) return;
        asked = resolve(target, holder, index) ? Thread.currentThread() : null;
        old = value;
    }

    /** After an operation that reads or writes; the site determines which. */
    public static void accessed(Object target, Object holder, int index, int site) {
        if (!UntornProbe.here()) return;
        if (resolve(target, holder, index)) {
            UntornProbe.put(site, object, value, slot);
        } else {
            UntornProbe.put(site + 1, 0, 1, 0);
        }
    }

    /** After an operation that read and wrote. */
    public static void updated(Object target, Object holder, int index, int site) {
        swapped(true, target, holder, index, site);
    }

    /**
     * After an operation that returns the old value, whether or not it wrote. If the value did not change, it only
     * read.
     */
    public static void exchanged(Object target, Object holder, int index, int site) {
        if (UntornProbe.here()) recordUpdate(resolve(target, holder, index), value != old, site);
    }

    /** After an operation that wrote if {@code done}. */
    public static void swapped(boolean done, Object target, Object holder, int index, int site) {
        if (UntornProbe.here()) recordUpdate(resolve(target, holder, index), done, site);
    }

    private static void recordUpdate(boolean known, boolean done, int site) {
        if (!known) {
            UntornProbe.put(site + UNKNOWN, 0, 1, 0);
        } else if (done && asked == Thread.currentThread()) {
            long now = value;
            UntornProbe.putFirst(site, object, old, slot);
            UntornProbe.put(site + WRITTEN, object, now, slot);
        } else {
            UntornProbe.put(site + FAILED, object, value, slot);
        }
    }

    /** Determines the variable of an operation, without recording anything; false if it is not known. */
    private static boolean resolve(Object target, Object holder, int index) {
        UntornProbe.suspendRecording();
        try {
            if (target instanceof VarHandle) return resolveHandle((VarHandle) target, holder, index);
            object = UntornValues.id(target);
            slot = index < 0 ? 0 : index;
            return resolveCommon(target, index) || resolveRare(target, holder);
        } catch (RuntimeException refused) {
            return false; // the operation itself throws
        } finally {
            UntornProbe.resumeRecording();
        }
    }

    private static boolean resolveCommon(Object target, int index) {
        if (target instanceof AtomicInteger) {
            value = ((AtomicInteger) target).get();
        } else if (target instanceof AtomicLong) {
            value = ((AtomicLong) target).get();
        } else if (target instanceof AtomicBoolean) {
            value = ((AtomicBoolean) target).get() ? 1 : 0;
        } else if (target instanceof AtomicReference) {
            value = UntornValues.id(((AtomicReference<?>) target).get());
        } else if (target instanceof AtomicIntegerArray) {
            value = ((AtomicIntegerArray) target).get(index);
        } else if (target instanceof AtomicLongArray) {
            value = ((AtomicLongArray) target).get(index);
        } else if (target instanceof AtomicReferenceArray) {
            value = UntornValues.id(((AtomicReferenceArray<?>) target).get(index));
        } else {
            return false;
        }
        return true;
    }

    private static boolean resolveRare(Object target, Object holder) {
        if (target instanceof LongAdder) {
            value = ((LongAdder) target).sum();
        } else if (target instanceof DoubleAdder) {
            value = Double.doubleToRawLongBits(((DoubleAdder) target).sum());
        } else if (target instanceof LongAccumulator) {
            value = ((LongAccumulator) target).get();
        } else if (target instanceof DoubleAccumulator) {
            value = Double.doubleToRawLongBits(((DoubleAccumulator) target).get());
        } else if (target instanceof AtomicStampedReference) {
            value = UntornValues.id(UntornValues.part(target, UntornValues.offset(AtomicStampedReference.class, "pair")));
        } else if (target instanceof AtomicMarkableReference) {
            value = UntornValues.id(UntornValues.part(target, UntornValues.offset(AtomicMarkableReference.class, "pair")));
        } else {
            return resolveUpdater(target, holder);
        }
        return true;
    }

    @SuppressWarnings("unchecked")
    private static boolean resolveUpdater(Object target, Object holder) {
        if (target instanceof AtomicIntegerFieldUpdater) {
            value = ((AtomicIntegerFieldUpdater<Object>) target).get(holder);
        } else if (target instanceof AtomicLongFieldUpdater) {
            value = ((AtomicLongFieldUpdater<Object>) target).get(holder);
        } else if (target instanceof AtomicReferenceFieldUpdater) {
            value = UntornValues.id(((AtomicReferenceFieldUpdater<Object, Object>) target).get(holder));
        } else {
            return false;
        }
        object = UntornValues.id(holder);
        slot = find(target);
        return slot >= 0;
    }

    private static boolean resolveHandle(VarHandle handle, Object holder, int index) {
        object = UntornValues.id(holder);
        if (index >= 0) {
            // A byte view as another type is not an element.
            if (!(holder instanceof Object[]) && handle.varType() != holder.getClass().getComponentType()) return false;
            value = UntornValues.element(holder, index);
            slot = index;
            return true;
        }
        slot = find(handle);
        if (slot < 0) return false;
        Object found = holder == null ? (Object) handle.getVolatile() : (Object) handle.getVolatile(holder);
        value = UntornValues.raw(found, handle.varType());
        return true;
    }

    // ---- method handles of fields: after the call, with the value that was read or written ----

    public static void through(int value, Object handle, Object holder, int site) {
        through((long) value, handle, holder, site);
    }

    public static void through(float value, Object handle, Object holder, int site) {
        through((long) Float.floatToRawIntBits(value), handle, holder, site);
    }

    public static void through(double value, Object handle, Object holder, int site) {
        through(Double.doubleToRawLongBits(value), handle, holder, site);
    }

    public static void through(long value, Object handle, Object holder, int site) {
        if (!UntornProbe.here()) return;
        int field = find(handle);
        if (field >= 0) UntornProbe.put(site, holder == null ? 0 : UntornValues.id(holder), value, field);
    }

    /** Numbers arrive boxed if the call does not name their type. */
    public static void through(Object value, Object handle, Object holder, int site) {
        if (!UntornProbe.here() || find(handle) < 0) return;
        java.lang.invoke.MethodType type = ((java.lang.invoke.MethodHandle) handle).type();
        boolean reads = type.returnType() != void.class;
        Class<?> kind = reads ? type.returnType() : type.parameterType(type.parameterCount() - 1);
        through(UntornValues.raw(value, kind), handle, holder, site);
    }

    // ---- the field of a handle or an updater ----

    /** Identities of handles and their fields: open addressing, 0 is free, at most half full. */
    private static int[] handles;
    private static int[] fields;
    private static int known;

    /** A handle or an updater was made. */
    public static void made(Object handle, Class<?> inClass, String name, Class<?> type) {
        if (handle == null || !UntornProbe.ready) return;
        UntornProbe.suspendRecording();
        try {
            int field = UntornProbe.fieldNumber(inClass.getName(), name, UntornValues.descriptor(type), UntornProbe.FIELD);
            remember(UntornValues.id(handle), field);
        } finally {
            UntornProbe.resumeRecording();
        }
    }

    public static void made(Object handle, Field field) {
        made(handle, field.getDeclaringClass(), field.getName(), field.getType());
    }

    /** Nothing of an earlier run is left. */
    static synchronized void reset() {
        handles = null;
        fields = null;
        known = 0;
        asked = null;
    }

    private static synchronized void remember(int handle, int field) {
        if (handles == null || known * 2 >= handles.length) grow();
        insert(handles, fields, handle, field);
        known++;
    }

    private static void grow() {
        int size = handles == null ? 64 : handles.length * 2;
        int[] newHandles = new int[size];
        int[] newFields = new int[size];
        for (int i = 0; handles != null && i < handles.length; i++) {
            if (handles[i] != 0) insert(newHandles, newFields, handles[i], fields[i]);
        }
        fields = newFields;
        handles = newHandles;
    }

    private static void insert(int[] handles, int[] fields, int handle, int field) {
        int at = handle & handles.length - 1;
        while (handles[at] != 0 && handles[at] != handle) at = at + 1 & handles.length - 1;
        fields[at] = field;
        handles[at] = handle;
    }

    private static int find(Object handle) {
        int[] all = handles;
        if (all == null) return -1;
        int wanted = UntornValues.id(handle);
        int at = wanted & all.length - 1;
        while (all[at] != 0) {
            if (all[at] == wanted) return fields[at];
            at = at + 1 & all.length - 1;
        }
        return -1;
    }
}
