package java.lang;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;

/** Makes a value of a type from a small number. Equal numbers give equal values. */
final class UntornArguments {
    private UntornArguments() {}

    static Object[] values(Class<?>[] types, int[] numbers) {
        Object[] values = new Object[types.length];
        for (int i = 0; i < types.length; i++) values[i] = value(types[i], numbers[i]);
        return values;
    }

    static boolean canMake(Class<?> type) {
        if (type.isArray()) return canMake(type.getComponentType());
        if (type.isEnum()) return type.getEnumConstants().length > 0;
        return type.isPrimitive() || isFunction(type) || value(type, 1) != null;
    }

    /** Null if there is no way to make one. */
    static Object value(Class<?> type, int number) {
        if (type.isArray()) {
            Object array = Array.newInstance(type.getComponentType(), 2);
            for (int i = 0; i < 2; i++) Array.set(array, i, value(type.getComponentType(), number + i));
            return array;
        }
        if (type.isEnum()) {
            Object[] constants = type.getEnumConstants();
            return constants[number % constants.length];
        }
        Object simple = simple(type, number);
        if (simple != null) return simple;
        return isFunction(type) ? function(type, number) : collection(type, number);
    }

    private static Object simple(Class<?> type, int number) {
        if (type == int.class || type.isAssignableFrom(Integer.class)) return number;
        if (type == long.class || type == Long.class) return (long) number;
        if (type == short.class || type == Short.class) return (short) number;
        if (type == byte.class || type == Byte.class) return (byte) number;
        if (type == double.class || type == Double.class) return (double) number;
        if (type == float.class || type == Float.class) return (float) number;
        if (type == boolean.class || type == Boolean.class) return number % 2 == 1;
        if (type == char.class || type == Character.class) return (char) ('a' + number);
        if (type.isAssignableFrom(String.class)) return String.valueOf((char) ('a' + number));
        return null;
    }

    private static Object collection(Class<?> type, int number) {
        List<Integer> list = new ArrayList<>();
        list.add(number);
        list.add(number + 1);
        if (type.isAssignableFrom(ArrayList.class)) return list;
        if (type.isAssignableFrom(HashSet.class)) return new HashSet<>(list);
        if (type.isAssignableFrom(ArrayDeque.class)) return new ArrayDeque<>(list);
        if (type.isAssignableFrom(HashMap.class)) {
            HashMap<Integer, Integer> map = new HashMap<>();
            map.put(number, number);
            return map;
        }
        return null;
    }

    private static boolean isFunction(Class<?> type) {
        return type.isInterface() && (type.getName().startsWith("java.util.function.") || type == Runnable.class
            || type == java.util.concurrent.Callable.class || type == java.util.Comparator.class);
    }

    /** It gives its number whatever it gets; as a predicate it holds for its number alone. */
    private static Object function(Class<?> type, int number) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, new Constant(number));
    }

    private static final class Constant implements InvocationHandler {
        private final int number;

        Constant(int number) {
            this.number = number;
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            Class<?> result = method.getReturnType();
            if (!Modifier.isAbstract(method.getModifiers())) return null;
            if (method.getName().equals("equals")) return proxy == arguments[0];
            if (method.getName().equals("compare")) return ((Integer) arguments[0]).compareTo((Integer) arguments[1]);
            if (result == boolean.class) return arguments != null && Integer.valueOf(number).equals(arguments[0]);
            return result == void.class ? null : simple(result, number);
        }
    }
}
