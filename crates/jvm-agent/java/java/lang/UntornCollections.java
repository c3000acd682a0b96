package java.lang;

import java.util.Collection;
import java.util.Map;

/**
 * Probes of the collections of java.util.concurrent. Each call is atomic, so it is recorded as one access of a
 * variable and not by its internal accesses. The variable is the content of the collection or, for a map, the entry
 * of a key.
 *
 * <p>The values of these variables are version numbers, counted here: each recorded change increments the version. So
 * they never contradict each other, even if unrecorded code changes the collection. Only keys whose {@code equals} is
 * the JDK's own are distinguished. No method of other keys is called here; the whole map counts as one variable for
 * them.
 */
public final class UntornCollections {
    // A change has three sites: its read, its write, and the read of a call that changed nothing.
    private static final int WRITTEN = 1;
    private static final int FAILED = 2;

    private static final int MAX_KEYS = 4096;
    private static final int LONGEST_KEY = 40;

    /** Whether the key of the current call was present before it. */
    private static boolean present;

    private UntornCollections() {}

    /** Before a call that throws if the collection is empty: then it reads, but changes nothing. */
    public static void beforeTaking(Object target, int site) {
        if (!UntornProbe.here() || !isConcurrent(target)) return;
        boolean empty;
        UntornProbe.suspendRecording();
        try {
            empty = target instanceof Collection && ((Collection<?>) target).isEmpty();
        } finally {
            UntornProbe.resumeRecording();
        }
        if (empty) whole(target, site, FAILED, false);
    }

    /** Before a call that computes a value only if the key is absent. */
    public static void beforeMaking(Object target, Object key, int site) {
        present = false;
        if (!UntornProbe.here() || !isConcurrent(target) || text(key) == null) return;
        UntornProbe.suspendRecording();
        try {
            present = target instanceof Map && ((Map<?, ?>) target).containsKey(key);
        } catch (RuntimeException refused) {
            present = false; // the call itself throws
        } finally {
            UntornProbe.resumeRecording();
        }
    }

    public static void made(Object target, Object key, int site) {
        change(!present, target, key, site);
    }

    /** After a call that reads the whole collection. */
    public static void observed(Object target, int site) {
        if (UntornProbe.here() && isConcurrent(target)) whole(target, site, 0, false);
    }

    /** After a call that reads the entry of a key. */
    public static void observedKey(Object target, Object key, int site) {
        if (!UntornProbe.here() || !isConcurrent(target)) return;
        int field = numberOf(target, key);
        if (field < 0) {
            whole(target, site, 0, false);
        } else {
            one(UntornValues.id(target), field, site, 0, false);
        }
    }

    public static void changed(Object target, int site) {
        change(true, target, site);
    }

    public static void changed(boolean done, Object target, int site) {
        change(done, target, site);
    }

    public static void changed(int done, Object target, int site) {
        change(done != 0, target, site);
    }

    public static void changed(Object taken, Object target, int site) {
        change(taken != null, target, site);
    }

    public static void changedFor(Object target, Object key, int site) {
        change(true, target, key, site);
    }

    public static void changedFor(boolean done, Object target, Object key, int site) {
        change(done, target, key, site);
    }

    public static void changedFor(Object taken, Object target, Object key, int site) {
        change(taken != null, target, key, site);
    }

    public static void added(Object before, Object target, Object key, int site) {
        change(before == null, target, key, site);
    }

    private static void change(boolean done, Object target, int site) {
        if (UntornProbe.here() && isConcurrent(target)) whole(target, site, done ? 0 : FAILED, done);
    }

    private static void change(boolean done, Object target, Object key, int site) {
        if (!UntornProbe.here() || !isConcurrent(target)) return;
        int field = numberOf(target, key);
        if (field >= 0) one(UntornValues.id(target), field, site, done ? 0 : FAILED, done);
        // A read of the whole conflicts with every change of an entry.
        if (done || field < 0) whole(target, site, done ? 0 : FAILED, done);
    }

    private static void whole(Object target, int site, int offset, boolean writes) {
        one(UntornValues.id(target), numberOf(target, "contents", false), site, offset, writes);
    }

    private static void one(int object, int field, int site, int offset, boolean writes) {
        if (field < 0) return;
        long version = version(object, field);
        if (!writes) {
            UntornProbe.put(site + offset, object, version, field);
            return;
        }
        setVersion(object, field, version + 1);
        UntornProbe.putFirst(site, object, version, field);
        UntornProbe.put(site + WRITTEN, object, version + 1, field);
    }

    private static boolean isConcurrent(Object target) {
        return target != null && target.getClass().getName().startsWith("java.util.concurrent.");
    }

    // ---- names of variables ----

    private static int keys;

    /** The number of the variable of a key; negative if the whole map is one variable. */
    private static int numberOf(Object target, Object key) {
        UntornProbe.suspendRecording();
        try {
            String text = text(key);
            return text == null ? -1 : numberOf(target, text, true);
        } finally {
            UntornProbe.resumeRecording();
        }
    }

    /** Names that were looked up, and their numbers: open addressing, at most half full. */
    private static String[] names = new String[256];
    private static Class<?>[] classes = new Class<?>[256];
    private static int[] numbers = new int[256];
    private static int known;

    private static synchronized int numberOf(Object target, String name, boolean isKey) {
        Class<?> inClass = target.getClass();
        int at = slot(inClass, name);
        if (names[at] != null) return numbers[at];
        if (isKey && keys >= MAX_KEYS) return -1;
        if (isKey) keys++;
        if (2 * known >= names.length) {
            grow();
            at = slot(inClass, name);
        }
        UntornProbe.suspendRecording();
        try {
            numbers[at] = UntornProbe.fieldNumber(inClass.getName(), name, "J", isKey ? UntornProbe.KEYED_CONTENTS : UntornProbe.CONTENTS);
        } finally {
            UntornProbe.resumeRecording();
        }
        classes[at] = inClass;
        names[at] = name;
        known++;
        return numbers[at];
    }

    private static int slot(Class<?> inClass, String name) {
        int at = name.hashCode() * 31 + inClass.getName().hashCode() & names.length - 1;
        while (names[at] != null && !(names[at].equals(name) && classes[at] == inClass)) {
            at = at + 1 & names.length - 1;
        }
        return at;
    }

    private static void grow() {
        String[] oldNames = names;
        Class<?>[] oldClasses = classes;
        int[] oldNumbers = numbers;
        names = new String[2 * oldNames.length];
        classes = new Class<?>[names.length];
        numbers = new int[names.length];
        for (int i = 0; i < oldNames.length; i++) {
            if (oldNames[i] == null) continue;
            int at = slot(oldClasses[i], oldNames[i]);
            names[at] = oldNames[i];
            classes[at] = oldClasses[i];
            numbers[at] = oldNumbers[i];
        }
    }

    /** A text that is unique to the key; null if that would run code of the program, or would be too long. */
    private static String text(Object key) {
        String text;
        if (key instanceof String) {
            text = "[\"" + clean((String) key) + "\"]";
        } else if (key instanceof Integer) {
            text = "[" + key + "]";
        } else if (key instanceof Long) {
            text = "[" + key + "L]";
        } else if (key instanceof Character) {
            text = "['" + clean(key.toString()) + "']";
        } else if (key instanceof Boolean) {
            text = "[" + key + "]";
        } else if (key instanceof Class) {
            text = "[" + ((Class<?>) key).getName() + ".class@" + UntornValues.id(key) + "]";
        } else {
            return null;
        }
        return text.length() > LONGEST_KEY ? null : text;
    }

    /** Escapes characters that have a meaning in names of variables. */
    private static String clean(String key) {
        StringBuilder out = new StringBuilder(key.length() + 2);
        for (int i = 0; i < key.length(); i++) {
            char c = key.charAt(i);
            boolean plain = c > ' ' && c < 127 && c != '.' && c != '#' && c != '[' && c != ']' && c != '\\' && c != '"';
            if (plain || c == ' ') {
                out.append(c);
            } else {
                out.append('\\').append(Integer.toHexString(c)).append(';');
            }
        }
        return out.toString();
    }

    // ---- versions ----

    /** By object and variable: open addressing, 0 is free, never more than half full. */
    private static long[] which = new long[1024];
    private static long[] versions = new long[1024];
    private static int counted;

    /** Nothing of an earlier run is left. */
    static synchronized void reset() {
        if (known > 0) {
            names = new String[256];
            classes = new Class<?>[256];
            numbers = new int[256];
        }
        if (counted > 0) {
            which = new long[1024];
            versions = new long[1024];
        }
        keys = 0;
        known = 0;
        counted = 0;
    }

    static synchronized long version(int object, int field) {
        return versions[place(key(object, field))];
    }

    static synchronized void setVersion(int object, int field, long version) {
        long key = key(object, field);
        int at = place(key);
        if (which[at] == 0) {
            if (2 * ++counted >= which.length) {
                widen();
                at = place(key);
            }
            which[at] = key;
        }
        versions[at] = version;
    }

    private static long key(int object, int field) {
        return (long) object << 32 | field + 1 & 0xffffffffL;
    }

    private static int place(long key) {
        int at = (int) (key * 0x9e3779b97f4a7c15L >>> 33) & which.length - 1;
        while (which[at] != 0 && which[at] != key) at = at + 1 & which.length - 1;
        return at;
    }

    private static void widen() {
        long[] oldWhich = which;
        long[] oldVersions = versions;
        which = new long[2 * oldWhich.length];
        versions = new long[which.length];
        for (int i = 0; i < oldWhich.length; i++) {
            if (oldWhich[i] == 0) continue;
            int at = place(oldWhich[i]);
            which[at] = oldWhich[i];
            versions[at] = oldVersions[i];
        }
    }
}
