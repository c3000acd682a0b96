// Corners of the language that compile to unusual bytecode.
//
// Wide values on the stack, compound assignments, arguments of super() with branches, inner
// classes, nested finally, both kinds of switch instruction.
//
// expect: output
import java.util.Arrays;
import java.util.StringJoiner;

public class Kinds {
    long wide = 1;
    double real = 0.5;
    byte small = 120;
    char letter = 'a';
    Integer boxed = 5;
    static long total;

    public static void main(String[] args) {
        var kinds = new Kinds();
        kinds.fieldArithmetic();
        kinds.arrayArithmetic();
        kinds.innerClasses();
        constructors();
        print("varargs", sum(), sum(1), sum(1, 2, 3), sum(new long[] {4}));
        print("finally", nestedFinally(0), nestedFinally(1), nestedFinally(2));
        print("dense", dense(0), dense(5), dense(9), dense(42));
        print("sparse", sparse(-1_000_000), sparse(7), sparse(1 << 30), sparse(0));
        print("many locals", manyLocals(3));
    }

    static void print(Object... parts) {
        var line = new StringJoiner(" ");
        for (var part : parts) {
            line.add(part.toString());
        }
        System.out.println(line);
    }

    void fieldArithmetic() {
        long before = wide++ + ++wide;
        wide += 1L << 35;
        wide <<= 2;
        wide ^= 0xFF;
        real *= 3;
        real -= wide;
        small += 10;
        letter++;
        letter += 1;
        boxed++;
        total = wide = before + (total -= 3);
        this.real = total > 0 ? real : -real;
        print("fields", before, wide, real, small, letter, boxed, total);
        String text = "x";
        text += wide + 'c' + 1.5f;
        print("text", text);
    }

    void arrayArithmetic() {
        var longs = new long[] {1, 2, 3};
        var doubles = new double[] {1, 2, 3};
        var bytes = new byte[] {127, 0};
        var chars = new char[] {'y'};
        var grid = new int[2][3];
        int i = 0;
        longs[i++] += 10;
        longs[i] <<= longs[i++];
        longs[i] = longs[0] = -longs[1];
        doubles[2] /= 4;
        double taken = doubles[0]++ + --doubles[1];
        bytes[0]++;
        chars[0]++;
        grid[1][2] += 5;
        grid[1][2] *= grid[1][2]++ + ++grid[1][2];
        print("arrays", Arrays.toString(longs), Arrays.toString(doubles), taken);
        print("elements", bytes[0], chars[0], grid[1][2], i);
    }

    class Inner {
        int own = 7;

        class Deeper {
            long all() {
                Kinds.this.wide += own;
                return Inner.this.own + wide;
            }
        }
    }

    void innerClasses() {
        int captured = 3;
        long wideCapture = 1L << 33;
        wide = 0;
        class Local {
            int field = captured * 2;

            long value() {
                field++;
                return field + captured + wideCapture + wide++;
            }
        }
        var local = new Local();
        Object anonymous = new Object() {
            int calls;

            @Override
            public String toString() {
                calls++;
                return "anonymous " + calls + captured;
            }
        };
        var deeper = this.new Inner().new Deeper();
        print("inner", local.value(), local.value(), anonymous, anonymous, deeper.all());
    }

    static class Named {
        final String name;
        final int[] marks;

        Named(String name, int... marks) {
            this.name = name;
            this.marks = marks;
        }
    }

    static class Special extends Named {
        final int extra;

        Special(int n) {
            super(
                    n > 0 ? "positive" : n == 0 ? "zero" : "negative",
                    n > 1 ? new int[] {n, n} : new int[n & 1]);
            extra = n > 0 && name.length() > 4 ? marks.length : -1;
        }

        Special() {
            this(total == Long.MIN_VALUE ? 1 : 2);
        }
    }

    static void constructors() {
        for (int n = -1; n <= 2; n++) {
            var special = new Special(n);
            print("super", special.name, special.marks.length, special.extra);
        }
        print("this", new Special().name);
    }

    static long sum(long... numbers) {
        long sum = 0;
        for (long number : numbers) {
            sum += number;
        }
        return sum;
    }

    static String nestedFinally(int n) {
        var trail = new StringBuilder();
        try {
            try {
                trail.append('a');
                if (n == 0) {
                    return trail.append('0').toString();
                }
                try {
                    if (n == 1) {
                        throw new IllegalStateException();
                    }
                    trail.append('b');
                } finally {
                    trail.append('c');
                }
            } finally {
                trail.append('d');
                total += n;
            }
        } catch (IllegalStateException e) {
            trail.append('e');
        }
        return trail.toString();
    }

    @SuppressWarnings("fallthrough")
    static int dense(int n) {
        switch (n) {
            case 0: return 10;
            case 1: case 2: case 3: case 4: return 14;
            case 5: n += 100;
            case 6: n++;
            case 7: case 8: return n;
            case 9: return 19;
            default: return -1;
        }
    }

    static int sparse(int n) {
        switch (n) {
            case -1_000_000: return 1;
            case 7: return 2;
            case 100_000: return 3;
            case 1 << 30: return 4;
            default: return 5;
        }
    }

    static double manyLocals(int n) {
        long a = n, b = a * 2, c = b * 3;
        double d = c / 2.0, e = d * d, f = e - a;
        float g = (float) f, h = g / 3;
        int i = (int) h, j = i << 2, k = j >>> 1;
        short l = (short) (k + 40_000);
        return a + b + c + d + e + f + g + h + i + j + k + l;
    }
}
