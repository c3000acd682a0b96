package java.lang;

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;

/**
 * The calls of a scenario: {@code class|constructor|before|thread|…|after}. Calls of one section are separated by blanks;
 * a call is {@code name(descriptor)result:argument,argument}, with a small number for each argument.
 */
final class UntornCalls {
    final Class<?> target;
    final Constructor<?> constructor;
    private final int[] constructorArguments;
    /** Calls before the threads, of each thread, and after them. */
    final Call[][] sections;

    private UntornCalls(Class<?> target, Constructor<?> constructor, int[] arguments, Call[][] sections) {
        this.target = target;
        this.constructor = constructor;
        constructorArguments = arguments;
        this.sections = sections;
    }

    Object[] constructorArguments() {
        return UntornArguments.values(constructor.getParameterTypes(), constructorArguments);
    }

    static final class Call {
        final Method method;
        private final int[] arguments;

        Call(Method method, int[] arguments) {
            this.method = method;
            this.arguments = arguments;
        }

        /** New ones each time: a call may keep or change what it gets. */
        Object[] arguments() {
            return UntornArguments.values(method.getParameterTypes(), arguments);
        }
    }

    static UntornCalls parse(String text, ClassLoader loader) throws ReflectiveOperationException {
        String[] parts = text.split("\\|", -1);
        Class<?> target = Class.forName(parts[0], true, loader);
        Call[][] sections = new Call[parts.length - 2][];
        for (int section = 0; section < sections.length; section++) {
            String[] calls = parts[section + 2].isEmpty() ? new String[0] : parts[section + 2].split(" ");
            sections[section] = new Call[calls.length];
            for (int index = 0; index < calls.length; index++) sections[section][index] = call(target, calls[index]);
        }
        int colon = parts[1].indexOf(':');
        Constructor<?> constructor = constructor(target, parts[1].substring(0, colon));
        return new UntornCalls(target, constructor, numbers(parts[1].substring(colon + 1)), sections);
    }

    private static Call call(Class<?> target, String text) throws NoSuchMethodException {
        int colon = text.lastIndexOf(':');
        String wanted = text.substring(0, colon);
        for (Method method : target.getMethods()) {
            if (isOperation(method) && (method.getName() + descriptor(method)).equals(wanted)) {
                method.setAccessible(true);
                // The JDK would look for an annotation at the first call, under a lock that is recorded.
                method.getAnnotation(Deprecated.class);
                return new Call(method, numbers(text.substring(colon + 1)));
            }
        }
        throw new NoSuchMethodException(wanted);
    }

    private static Constructor<?> constructor(Class<?> target, String wanted) throws NoSuchMethodException {
        for (Constructor<?> constructor : target.getDeclaredConstructors()) {
            if (descriptor(constructor.getParameterTypes(), void.class).equals(wanted)) {
                // Without it the JDK looks each time whether the call is allowed, in code that is recorded.
                constructor.setAccessible(true);
                return constructor;
            }
        }
        throw new NoSuchMethodException(wanted);
    }

    static boolean isPublic(Constructor<?> constructor) {
        return Modifier.isPublic(constructor.getModifiers())
            && Modifier.isPublic(constructor.getDeclaringClass().getModifiers());
    }

    /** A public method of an object that the compiler did not make. */
    static boolean isOperation(Method method) {
        return !Modifier.isStatic(method.getModifiers()) && !method.isBridge() && !method.isSynthetic()
            && method.getDeclaringClass() != Object.class;
    }

    private static int[] numbers(String text) {
        String[] words = text.isEmpty() ? new String[0] : text.split(",");
        int[] numbers = new int[words.length];
        for (int i = 0; i < words.length; i++) numbers[i] = Integer.parseInt(words[i]);
        return numbers;
    }

    static String descriptor(Method method) {
        return descriptor(method.getParameterTypes(), method.getReturnType());
    }

    static String descriptor(Class<?>[] parameters, Class<?> result) {
        StringBuilder out = new StringBuilder("(");
        for (Class<?> parameter : parameters) out.append(descriptor(parameter));
        return out.append(")").append(descriptor(result)).toString();
    }

    /** Java 11 has no method for it, but an array has the descriptor of its elements in its name. */
    private static String descriptor(Class<?> type) {
        if (type == void.class) return "V";
        return Array.newInstance(type, 0).getClass().getName().substring(1).replace('.', '/');
    }
}
