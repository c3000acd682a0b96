import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * Every construct that makes a compiler emit something unusual, each with output that shows whether
 * it still works. It is compiled, rewritten and run by the test of the rewriter.
 */
public class Samples {
    static final StringBuilder OUT = new StringBuilder();

    static void say(Object... parts) {
        for (Object part : parts) {
            OUT.append(part instanceof Object[] ? Arrays.deepToString((Object[]) part) : part).append(' ');
        }
        OUT.append('\n');
    }

    // Switches: dense, sparse, on strings, falling through, with a loop around, nested.
    static String switches(int number, String text) {
        StringBuilder seen = new StringBuilder();
        for (int i = 0; i < 3; i++) {
            switch (number + i) {
                case 0: seen.append("zero"); break;
                case 1: seen.append("one");
                case 2: seen.append("two"); continue;
                case 3: seen.append("three"); break;
                default: seen.append('?');
            }
            switch (number * 1000) {
                case -5000: seen.append("low"); break;
                case 1000: switch (i) { case 0: seen.append("a"); break; case 1: seen.append("b"); break; default: }
                case Integer.MAX_VALUE: seen.append("high"); break;
                default: seen.append('.');
            }
        }
        switch (text) {
            case "Aa": case "BB": return seen + "same hash";
            case "x": return seen + "x";
            default: return seen.toString();
        }
    }

    // Finally blocks that are copied to each way out, with returns, breaks and throws in them.
    static int nestedFinally(int way) {
        int steps = 0;
        outer:
        for (;;) {
            try {
                try {
                    steps++;
                    if (way == 0) return steps;
                    if (way == 1) throw new IllegalStateException("one");
                    if (way == 2) break outer;
                    if (way == 3) throw new Error("three");
                    if (way == 4 && steps < 4) continue;
                    return steps * 10;
                } finally {
                    steps += 100;
                    OUT.append("inner").append(steps).append(' ');
                }
            } catch (IllegalStateException e) {
                steps += 1000;
                if (steps > 3000) return steps;
            } catch (Error e) {
                return -steps;
            } finally {
                OUT.append("outer").append(steps).append(' ');
            }
        }
        return -1;
    }

    @SuppressWarnings("finally")
    static int finallyReturns(boolean fail) {
        try {
            if (fail) throw new RuntimeException();
            return 1;
        } finally {
            return 2;
        }
    }

    static final class Resource implements AutoCloseable {
        final String name;
        Resource(String name) { this.name = name; }
        @Override public void close() {
            OUT.append("close ").append(name).append(' ');
            if (name.equals("bad")) throw new IllegalArgumentException(name);
        }
    }

    static String resources(String first, String second) {
        try (Resource a = new Resource(first); Resource b = new Resource(second)) {
            if (second.equals("throw")) throw new RuntimeException("body");
            return a.name + b.name;
        } catch (RuntimeException e) {
            return e.getMessage() + e.getSuppressed().length;
        }
    }

    // Synchronized methods and blocks, static and not, left normally and by exceptions.
    private int held;
    synchronized int increment(int by) {
        if (by < 0) throw new IllegalArgumentException("negative");
        if (by == 0) return held;
        held += by;
        return held;
    }
    synchronized long twice(long number) { return 2 * number; }
    synchronized double half(double number) { return number / 2; }
    synchronized void loop(int times) { while (times-- > 0) held++; }
    synchronized String tryInside(Object what) {
        try {
            return what.toString();
        } catch (NullPointerException e) {
            return "null";
        }
    }
    static synchronized String varied(int number, String text, long[] wide, double factor) {
        String found = text;
        for (long each : wide) {
            int twice = number * 2;
            if (each > factor) {
                Object last = found + twice;
                try {
                    found = text.isEmpty() ? last.toString() : new String(number > 1 ? "many" : "one");
                } catch (NullPointerException e) {
                    return "null";
                }
            }
        }
        return found;
    }
    static synchronized Object recursive(int depth) {
        return depth == 0 ? Thread.holdsLock(Samples.class) : recursive(depth - 1);
    }
    int block(Object lock, int number) {
        synchronized (lock) {
            if (number > 10) return number;
            synchronized (this) {
                if (number > 5) throw new IllegalStateException(String.valueOf(number));
                held += number;
            }
            for (int i = 0; i < 3; i++) {
                synchronized (OUT) {
                    if (i == 1) continue;
                    if (number == i) break;
                    held++;
                }
            }
        }
        return held;
    }

    static boolean free(Object lock) { return !Thread.holdsLock(lock); }

    // Numbers of two slots everywhere: arguments, stack, arrays, fields, comparisons.
    static long total;
    double last;
    long wide(long a, int b, double c, float d, long e) {
        long[] numbers = {a, b, (long) c, (long) d, e};
        double[][] grid = new double[3][2];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] += i << 2;
            grid[i % 3][i % 2] += numbers[i] * c;
            total ^= numbers[i];
            last = last > grid[i % 3][1] ? last : -grid[i % 3][1];
        }
        long old = total++;
        return (numbers[0] > e ? numbers[1] >>> 2 : ~numbers[4]) + old + (long) last;
    }

    // Constructor calls whose arguments branch, so that frames name uninitialised objects.
    static class Base {
        final Object what;
        Base(Object what) { this.what = what; }
    }
    static final class Derived extends Base {
        final int number;
        Derived(int number) {
            super(number > 0 ? new int[number].length : new StringBuilder(number == 0 ? "zero" : new String("below")).toString());
            this.number = number;
            for (int i = 0; i < number; i++) OUT.append(i);
        }
        Derived(String text, Supplier<Base> other) {
            this(text == null ? -1 : text.isEmpty() ? 0 : new Derived(text.length()).number + ((Integer) other.get().what));
        }
    }

    static Object construct(boolean a, boolean b) {
        return new Base(a ? new Base(b ? "ab" : new Derived(b ? 1 : 2)) : new ArrayList<>(b ? Arrays.asList(1) : Arrays.asList()));
    }

    // More local variables than a byte can number.
    static int many(int start) {
        long v0 = start, v1 = v0 + 1, v2 = v1 + 2, v3 = v2 + 3, v4 = v3 + 4, v5 = v4 + 5, v6 = v5 + 6,
            v7 = v6 + 7, v8 = v7 + 8, v9 = v8 + 9, v10 = v9 + 10, v11 = v10 + 11, v12 = v11 + 12, v13 = v12 + 13,
            v14 = v13 + 14, v15 = v14 + 15, v16 = v15 + 16, v17 = v16 + 17, v18 = v17 + 18, v19 = v18 + 19,
            v20 = v19 + 20, v21 = v20 + 21, v22 = v21 + 22, v23 = v22 + 23, v24 = v23 + 24, v25 = v24 + 25,
            v26 = v25 + 26, v27 = v26 + 27, v28 = v27 + 28, v29 = v28 + 29, v30 = v29 + 30, v31 = v30 + 31,
            v32 = v31 + 32, v33 = v32 + 33, v34 = v33 + 34, v35 = v34 + 35, v36 = v35 + 36, v37 = v36 + 37,
            v38 = v37 + 38, v39 = v38 + 39, v40 = v39 + 40, v41 = v40 + 41, v42 = v41 + 42, v43 = v42 + 43,
            v44 = v43 + 44, v45 = v44 + 45, v46 = v45 + 46, v47 = v46 + 47, v48 = v47 + 48, v49 = v48 + 49,
            v50 = v49 + 50, v51 = v50 + 51, v52 = v51 + 52, v53 = v52 + 53, v54 = v53 + 54, v55 = v54 + 55,
            v56 = v55 + 56, v57 = v56 + 57, v58 = v57 + 58, v59 = v58 + 59, v60 = v59 + 60, v61 = v60 + 61,
            v62 = v61 + 62, v63 = v62 + 63, v64 = v63 + 64, v65 = v64 + 65, v66 = v65 + 66, v67 = v66 + 67,
            v68 = v67 + 68, v69 = v68 + 69, v70 = v69 + 70, v71 = v70 + 71, v72 = v71 + 72, v73 = v72 + 73,
            v74 = v73 + 74, v75 = v74 + 75, v76 = v75 + 76, v77 = v76 + 77, v78 = v77 + 78, v79 = v78 + 79,
            v80 = v79 + 80, v81 = v80 + 81, v82 = v81 + 82, v83 = v82 + 83, v84 = v83 + 84, v85 = v84 + 85,
            v86 = v85 + 86, v87 = v86 + 87, v88 = v87 + 88, v89 = v88 + 89, v90 = v89 + 90, v91 = v90 + 91,
            v92 = v91 + 92, v93 = v92 + 93, v94 = v93 + 94, v95 = v94 + 95, v96 = v95 + 96, v97 = v96 + 97,
            v98 = v97 + 98, v99 = v98 + 99, v100 = v99 + 100, v101 = v100 + 101, v102 = v101 + 102,
            v103 = v102 + 103, v104 = v103 + 104, v105 = v104 + 105, v106 = v105 + 106, v107 = v106 + 107,
            v108 = v107 + 108, v109 = v108 + 109, v110 = v109 + 110, v111 = v110 + 111, v112 = v111 + 112,
            v113 = v112 + 113, v114 = v113 + 114, v115 = v114 + 115, v116 = v115 + 116, v117 = v116 + 117,
            v118 = v117 + 118, v119 = v118 + 119, v120 = v119 + 120, v121 = v120 + 121, v122 = v121 + 122,
            v123 = v122 + 123, v124 = v123 + 124, v125 = v124 + 125, v126 = v125 + 126, v127 = v126 + 127,
            v128 = v127 + 128, v129 = v128 + 129;
        int index = start;
        for (; index < 1000; index += 300) index++;
        double high = index;
        high += v0 + v1 + v2 + v3 + v4 + v5 + v6 + v7 + v8 + v9 + v10 + v11 + v12 + v13 + v14 + v15 + v16 + v17 + v18 +
            v19 + v20 + v21 + v22 + v23 + v24 + v25 + v26 + v27 + v28 + v29 + v30 + v31 + v32 + v33 + v34 + v35 +
            v36 + v37 + v38 + v39 + v40 + v41 + v42 + v43 + v44 + v45 + v46 + v47 + v48 + v49 + v50 + v51 + v52 +
            v53 + v54 + v55 + v56 + v57 + v58 + v59 + v60 + v61 + v62 + v63 + v64 + v65 + v66 + v67 + v68 + v69 +
            v70 + v71 + v72 + v73 + v74 + v75 + v76 + v77 + v78 + v79 + v80 + v81 + v82 + v83 + v84 + v85 + v86 +
            v87 + v88 + v89 + v90 + v91 + v92 + v93 + v94 + v95 + v96 + v97 + v98 + v99 + v100 + v101 + v102 + v103 +
            v104 + v105 + v106 + v107 + v108 + v109 + v110 + v111 + v112 + v113 + v114 + v115 + v116 + v117 + v118 +
            v119 + v120 + v121 + v122 + v123 + v124 + v125 + v126 + v127 + v128 + v129;
        return index + (int) high;
    }

    // Lambdas, method references, captured values, inner classes, generics with bridges.
    interface Shape<T extends Comparable<T>> { T size(); default String show() { return "shape " + size(); } static int count() { return 7; } }
    static class Square implements Shape<Integer> {
        final int side;
        Square(int side) { this.side = side; }
        @Override public Integer size() { return side * side; }
    }
    // In a class of its own: without it, Samples is a class such as Java 5 would have made.
    static final class Lambdas {
        static List<Object> lambdas(int captured) {
            List<Object> all = new ArrayList<>();
            IntFunction<int[]> make = int[]::new;
            Supplier<String> text = () -> "captured " + captured + make.apply(captured).length;
            Runnable nested = () -> all.add(((Supplier<Object>) () -> text.get() + captured).get());
            nested.run();
            all.add(new Object() { @Override public String toString() { return "anonymous " + captured; } });
            Shape<Integer> square = new Square(captured);
            all.add(square.show() + square.size() + Shape.count());
            return all;
        }

        static Map<String, Integer> count(String text) {
            Map<String, Integer> map = new HashMap<>();
            for (String word : text.split(" ")) map.merge(word, 1, Integer::sum);
            return map;
        }

        static void failures(Samples s, Object lock) {
            uncaught(() -> s.increment(-1));
            for (int i = 0; i < 12; i += 3) {
                int n = i;
                uncaught(() -> say(s.block(lock, n)));
                say(free(lock), free(s), free(Samples.class));
            }
            uncaught(() -> types("").hashCode());
            uncaught(() -> say(((Object[]) new Integer[1])[2]));
        }

        static Supplier<Base> two() { return () -> new Base(2); }
    }

    enum Colour { RED, GREEN { @Override int weight() { return 5; } }; int weight() { return ordinal(); } }

    static int enums(Colour colour) {
        switch (colour) {
            case RED: return 1;
            case GREEN: return colour.weight();
            default: return 0;
        }
    }

    static int labels(int[][] grid) {
        int found = 0;
        rows:
        for (int[] row : grid) {
            int i = 0;
            do {
                if (row[i] == 0) continue rows;
                if (row[i] < 0) break rows;
                found += row[i] > 5 && row[i] % 2 == 0 || row[i] == 3 ? row[i] : 1;
            } while (++i < row.length);
        }
        assert found >= 0 : "never";
        return found;
    }

    static Object types(Object value) {
        if (value instanceof String) return ((String) value).charAt(0);
        if (value instanceof int[]) return ((int[]) value).clone().length;
        if (value instanceof Number && ((Number) value).intValue() > 3) return (byte) ((Number) value).intValue();
        char c = 'a';
        short s = (short) (c + 70000);
        boolean[] flags = {true, false};
        flags[1] ^= flags[0] & s > 0;
        return new Object[][] {{c, s, flags[1], (float) 1 / 3}, {1L << 40, -0.0, Double.NaN}};
    }

    // Annotations of types, which name places in the code.
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE_USE)
    @interface Mark { String value() default ""; int[] many() default {}; }

    static Object annotated(Object value) {
        @Mark("local") List<@Mark Object> list = new @Mark(many = {1, 2}) ArrayList<@Mark Object>();
        try {
            if (value instanceof @Mark("of") String) list.add((@Mark String) value);
            return list;
        } catch (@Mark("caught") RuntimeException e) {
            return e;
        }
    }

    static void uncaught(Runnable what) {
        try {
            what.run();
            say("no exception");
        } catch (RuntimeException | StackOverflowError e) {
            say(e.getClass().getSimpleName(), e.getMessage());
        }
    }

    // A branch back to the very first instruction.
    static int first(int number) {
        do {
            number -= 3;
        } while (number > 0);
        return number;
    }

    int catchUp(Samples other) {
        Samples self = this;
        while (other != null && self.held < other.held) {
            self.held++;
        }
        return self.held;
    }

    static String run() {
        for (int i = -5; i < 5; i++) say(switches(i, i < 0 ? "Aa" : i > 2 ? "x" : "BB"));
        for (int i = 0; i < 6; i++) say(nestedFinally(i));
        say(finallyReturns(true), finallyReturns(false));
        say(resources("a", "b"), resources("bad", "b"), resources("a", "throw"), resources("bad", "throw"));
        Samples s = new Samples();
        say(s.increment(3), s.increment(0), s.twice(1L << 33), s.half(5), s.tryInside(null), s.tryInside(1), recursive(3));
        s.loop(4);
        say(varied(1, "a", new long[] {1, 2}, 1.5), varied(2, "", new long[] {3}, 2), varied(2, null, new long[] {5}, 2));
        Lambdas.failures(s, new Object());
        say(s.wide(1, 2, 3.5, 4.5f, 1L << 50), s.last, total);
        say(new Derived(3).what, new Derived(0).what, new Derived(-1).what);
        say(new Derived("four", Lambdas.two()).number, new Derived(null, null).what);
        say(((Base) construct(true, true)).what.getClass(), ((Base) construct(false, true)).what);
        say(many(5), first(10), first(0), s.catchUp(s), enums(Colour.RED), enums(Colour.GREEN));
        say(Lambdas.lambdas(3).toArray());
        say(labels(new int[][] {{1, 8, 3}, {0, 9}, {7, -1, 5}, {6}}));
        say(types("text"), types(new int[4]), types(9L), types(null));
        say(annotated("text"), annotated(1));
        say(Lambdas.count("a b a c a b"));
        return OUT.toString();
    }
}
