package java.lang;

import java.lang.reflect.Array;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Writes results as text: values by what they are, collections of the JDK by what is in them, all other objects by the
 * order in which they were first seen.
 */
final class UntornResults {
    /** What a result may be nested in. */
    private static final int DEEPEST = 4;
    private static final int MAX_ELEMENTS = 64;

    private Object[] seen = new Object[8];
    private int count;

    UntornResults(Object target) {
        seen[count++] = target;
    }

    /** {@code name} is that of the call. */
    String outcome(String name, Object result, Throwable thrown) {
        if (thrown != null) return "throw " + name + " " + thrown.getClass().getName();
        return "return " + name + " " + text(result, DEEPEST);
    }

    private String text(Object value, int depth) {
        if (value == null) return "null";
        if (value instanceof String) return quoted((String) value);
        if (value instanceof Character) return "'" + escaped(value.toString()) + "'";
        if (value instanceof Long) return value + "L";
        if (value instanceof Number && isSimple(value.getClass())) return value.toString();
        if (value instanceof Boolean) return value.toString();
        if (value instanceof Enum) return escaped(((Enum<?>) value).name());
        if (isValue(value.getClass())) return value.getClass().getSimpleName() + " " + quoted(value.toString());
        String content = depth == 0 ? null : content(value, depth - 1);
        return content != null ? content : reference(value);
    }

    /** Null if it is not looked into. */
    private String content(Object value, int depth) {
        try {
            if (value.getClass().isArray()) return array(value, depth);
            if (!value.getClass().getName().startsWith("java.util.")) return null;
            if (value instanceof Optional) {
                Object inner = ((Optional<?>) value).orElse(null);
                return inner == null ? "Optional.empty" : "Optional[" + text(inner, depth) + "]";
            }
            if (value instanceof Map.Entry) return entry((Map.Entry<?, ?>) value, depth);
            if (value instanceof Map) return joined(((Map<?, ?>) value).entrySet().toArray(), depth, true, "{}");
            if (value instanceof Set) return joined(((Set<?>) value).toArray(), depth, true, "{}");
            if (value instanceof Collection) return joined(((Collection<?>) value).toArray(), depth, false, "[]");
        } catch (RuntimeException changed) {
            // It cannot be looked into: as any other object.
        }
        return null;
    }

    private String array(Object array, int depth) {
        Object[] elements = new Object[Array.getLength(array)];
        for (int i = 0; i < elements.length; i++) elements[i] = Array.get(array, i);
        return joined(elements, depth, false, "[]");
    }

    private String entry(Map.Entry<?, ?> entry, int depth) {
        return text(entry.getKey(), depth) + "=" + text(entry.getValue(), depth);
    }

    /** The order of a set says nothing. */
    private String joined(Object[] elements, int depth, boolean sorts, String brackets) {
        if (elements.length > MAX_ELEMENTS) return null;
        String[] texts = new String[elements.length];
        for (int i = 0; i < elements.length; i++) texts[i] = text(elements[i], depth);
        if (sorts) Arrays.sort(texts);
        StringBuilder out = new StringBuilder().append(brackets.charAt(0));
        for (int i = 0; i < texts.length; i++) out.append(i == 0 ? "" : ", ").append(texts[i]);
        return out.append(brackets.charAt(1)).toString();
    }

    private static boolean isSimple(Class<?> type) {
        return type == Integer.class || type == Short.class || type == Byte.class || type == Double.class
            || type == Float.class;
    }

    /** Classes of the JDK whose text is their value. */
    private static boolean isValue(Class<?> type) {
        String name = type.getName();
        return name.startsWith("java.math.") || name.startsWith("java.time.") || name.equals("java.util.UUID");
    }

    private String reference(Object object) {
        int at = 0;
        while (at < count && seen[at] != object) at++;
        if (at == count) {
            if (count == seen.length) seen = Arrays.copyOf(seen, count * 2);
            seen[count++] = object;
        }
        return "<" + object.getClass().getName() + "#" + at + ">";
    }

    private static String quoted(String text) {
        return '"' + escaped(text) + '"';
    }

    /** One line, and no character that means something elsewhere. */
    private static String escaped(String text) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            boolean isPlain = c >= ' ' && c < 127 && c != '<' && c != '>' && c != '"' && c != '\\';
            if (isPlain) {
                out.append(c);
            } else {
                String code = "000" + Integer.toHexString(c);
                out.append("\\u").append(code.substring(code.length() - 4));
            }
        }
        return out.toString();
    }
}
