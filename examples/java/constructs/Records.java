// Records, enums, sealed types, switches on strings and enums, patterns, text blocks.
//
// expect: output
import java.util.EnumMap;
import java.util.List;

public class Records {
    record Pair<A, B>(A first, B second) {
        static int made;

        Pair {
            made++;
        }

        <C> Pair<A, C> with(C other) {
            return new Pair<>(first, other);
        }
    }

    record Range(int from, int to) implements Comparable<Range> {
        Range {
            if (from > to) {
                int swap = from;
                from = to;
                to = swap;
            }
        }

        Range(int to) {
            this(0, to);
        }

        @Override
        public int compareTo(Range other) {
            return Integer.compare(to - from, other.to - other.from);
        }
    }

    enum Operation {
        PLUS("+") {
            @Override
            int apply(int a, int b) {
                return a + b;
            }
        },
        TIMES("*") {
            @Override
            int apply(int a, int b) {
                return a * b;
            }
        };

        final String sign;
        int uses;

        Operation(String sign) {
            this.sign = sign;
        }

        abstract int apply(int a, int b);
    }

    sealed interface Shape permits Circle, Square, Nothing {}

    record Circle(int radius) implements Shape {}

    record Square(int side) implements Shape {}

    enum Nothing implements Shape { NOTHING }

    static int area(Shape shape) {
        if (shape instanceof Circle c && c.radius() > 0) {
            return 3 * c.radius() * c.radius();
        }
        if (!(shape instanceof Square square)) {
            return 0;
        }
        return square.side() * square.side();
    }

    static int days(String month) {
        return switch (month) {
            case "february" -> 28;
            case "april", "june", "september", "november" -> 30;
            // These two have the same hash code.
            case "Aa" -> 1;
            case "BB" -> 2;
            default -> {
                int length = month.length();
                yield length > 0 ? 31 : 0;
            }
        };
    }

    static String describe(Operation operation) {
        switch (operation) {
            case PLUS:
                operation.uses++;
                return "sum";
            case TIMES:
                operation.uses += 2;
                return "product";
            default:
                throw new AssertionError();
        }
    }

    public static void main(String[] args) {
        var pair = new Pair<>("a", 1);
        System.out.println(pair + " " + pair.with(2.5) + " made " + Pair.made);
        var same = new Pair<>("a", 1);
        System.out.println("equal " + pair.equals(same) + " " + pair.equals(pair.with(2)));
        System.out.println("same hash " + (pair.hashCode() == same.hashCode()));
        System.out.println(new Range(5, 2) + " " + new Range(4).compareTo(new Range(1, 2)));
        var counts = new EnumMap<Operation, Integer>(Operation.class);
        for (var operation : Operation.values()) {
            counts.put(operation, operation.apply(6, 7));
            System.out.println(describe(operation) + " " + operation.sign + " " + operation.uses);
        }
        System.out.println(counts + " " + Operation.valueOf("TIMES").ordinal());
        for (Shape shape : List.of(new Circle(2), new Square(3), Nothing.NOTHING)) {
            System.out.println(shape + " " + area(shape));
        }
        for (var month : List.of("june", "february", "May", "", "Aa", "BB")) {
            System.out.println("days of '" + month + "' " + days(month));
        }
        System.out.print("""
                a block
                  of text
                """);
    }
}
