package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * Logs what a re-execution of the program's code cannot compute by itself. Nothing is logged, and nothing of this class is
 * called, unless a run is asked to: then {@link #pos} is not 0. The format is that of {@code path_log} in the protocol.
 */
public final class UntornPath {
    /** In place of a site: another thread goes on. */
    private static final int SWITCH = 1;
    /** Longer texts are not logged. */
    private static final int LONGEST = 256;
    /** Objects whose identity is larger may have their text logged more than once. */
    private static final int KNOWN = 1 << 22;

    /** The log in memory: where it begins, the next record, and the end of what may be written. */
    static long base, pos, end;
    /** A bit for each object whose text is logged. */
    static long texts;
    /** The thread whose records come last. */
    private static int last;

    private UntornPath() {}

    /** The instruction has completed. */
    public static void done(int site) {
        if (begin(site)) finish();
    }

    public static void value(int value, int site) {
        if (begin(site)) signed(value);
    }

    public static void value(long value, int site) {
        if (begin(site)) signed(value);
    }

    public static void value(float value, int site) {
        if (begin(site)) number(Float.floatToRawIntBits(value) & 0xffffffffL);
    }

    public static void value(double value, int site) {
        if (begin(site)) number(Double.doubleToRawLongBits(value));
    }

    public static void value(Object value, int site) {
        if (begin(site)) reference(value);
    }

    // ---- the arguments of a method that has begun ----

    public static void more(int value) {
        if (isLogged()) signed(value);
    }

    public static void more(long value) {
        if (isLogged()) signed(value);
    }

    public static void more(float value) {
        if (isLogged()) number(Float.floatToRawIntBits(value) & 0xffffffffL);
    }

    public static void more(double value) {
        if (isLogged()) number(Double.doubleToRawLongBits(value));
    }

    public static void more(Object value) {
        if (isLogged()) reference(value);
    }

    private static boolean isLogged() {
        return pos != 0 && pos < end && UntornProbe.here();
    }

    private static boolean begin(int site) {
        if (!isLogged()) return false;
        if (UntornProbe.self != last) {
            last = UntornProbe.self;
            put(SWITCH);
            put(last);
        }
        put(site);
        return true;
    }

    /** What was written so far counts. */
    private static void finish() {
        Unsafe.getUnsafe().putLong(base, pos - base - 8);
    }

    private static void signed(long value) {
        number(value << 1 ^ value >> 63);
    }

    private static void number(long value) {
        put(value);
        finish();
    }

    private static void put(long value) {
        Unsafe unsafe = Unsafe.getUnsafe();
        long to = pos;
        while ((value & ~0x7fL) != 0) {
            unsafe.putByte(to++, (byte) (value | 0x80));
            value >>>= 7;
        }
        unsafe.putByte(to++, (byte) value);
        pos = to;
    }

    private static void reference(Object value) {
        long identity = System.identityHashCode(value);
        if (value instanceof String && isNew(identity)) {
            put(identity << 1 | 1);
            text((String) value);
        } else {
            put(identity << 1);
        }
        finish();
    }

    private static boolean isNew(long identity) {
        if (identity >= KNOWN) return true;
        Unsafe unsafe = Unsafe.getUnsafe();
        long at = texts + (identity >>> 3);
        byte bit = (byte) (1 << (identity & 7));
        byte known = unsafe.getByte(at);
        unsafe.putByte(at, (byte) (known | bit));
        return (known & bit) == 0;
    }

    private static void text(String value) {
        int length = value.length();
        if (length > LONGEST) {
            put(0);
            return;
        }
        put(length + 1);
        for (int at = 0; at < length; at++) put(value.charAt(at));
    }
}
