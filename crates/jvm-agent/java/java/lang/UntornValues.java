package java.lang;

import jdk.internal.misc.Unsafe;

/** Values as records hold them: numbers by their bits, objects by their identity. */
final class UntornValues {
    private UntornValues() {}

    static int id(Object object) {
        return System.identityHashCode(object);
    }

    /** A boxed value, or the identity of an object. */
    static long raw(Object value, Class<?> type) {
        if (!type.isPrimitive()) return id(value);
        if (value instanceof Boolean) return (Boolean) value ? 1 : 0;
        if (value instanceof Character) return (Character) value;
        if (value instanceof Float) return Float.floatToRawIntBits((Float) value);
        if (value instanceof Double) return Double.doubleToRawLongBits((Double) value);
        return ((Number) value).longValue();
    }

    /** The value of a field. */
    static long at(Object base, long offset, Class<?> type) {
        Unsafe unsafe = Unsafe.getUnsafe();
        if (!type.isPrimitive()) return id(unsafe.getReferenceVolatile(base, offset));
        if (type == boolean.class) return unsafe.getBooleanVolatile(base, offset) ? 1 : 0;
        if (type == byte.class) return unsafe.getByteVolatile(base, offset);
        if (type == short.class) return unsafe.getShortVolatile(base, offset);
        if (type == char.class) return unsafe.getCharVolatile(base, offset);
        if (type == int.class || type == float.class) return unsafe.getIntVolatile(base, offset);
        return unsafe.getLongVolatile(base, offset);
    }

    /** The object in a private field of the JDK. */
    static Object part(Object object, long offset) {
        return Unsafe.getUnsafe().getReferenceVolatile(object, offset);
    }

    static long offset(Class<?> inClass, String name) {
        return Unsafe.getUnsafe().objectFieldOffset(inClass, name);
    }

    /** Determines how values of a class are shown. */
    static String descriptor(Class<?> type) {
        if (type.isArray()) return "[";
        if (type == boolean.class) return "Z";
        if (type == char.class) return "C";
        if (type == float.class) return "F";
        if (type == double.class) return "D";
        return type.isPrimitive() ? "I" : "L";
    }

    /** The number of an array's type; arrays of booleans count as arrays of bytes. */
    static int type(Object array) {
        if (array instanceof int[]) return 0;
        if (array instanceof long[]) return 1;
        if (array instanceof float[]) return 2;
        if (array instanceof double[]) return 3;
        if (array instanceof Object[]) return 4;
        if (array instanceof char[]) return 6;
        return array instanceof short[] ? 7 : 5;
    }

    /** The same number for the type of a field. */
    static int typeOf(Class<?> type) {
        if (!type.isPrimitive()) return 4;
        if (type == int.class) return 0;
        if (type == long.class) return 1;
        if (type == float.class) return 2;
        if (type == double.class) return 3;
        if (type == char.class) return 6;
        return type == short.class ? 7 : 5;
    }

    static long element(Object array, int index) {
        if (array instanceof int[]) return ((int[]) array)[index];
        if (array instanceof Object[]) return id(((Object[]) array)[index]);
        if (array instanceof long[]) return ((long[]) array)[index];
        if (array instanceof byte[]) return ((byte[]) array)[index];
        if (array instanceof char[]) return ((char[]) array)[index];
        if (array instanceof boolean[]) return ((boolean[]) array)[index] ? 1 : 0;
        if (array instanceof double[]) return Double.doubleToRawLongBits(((double[]) array)[index]);
        if (array instanceof float[]) return Float.floatToRawIntBits(((float[]) array)[index]);
        return ((short[]) array)[index];
    }
}
