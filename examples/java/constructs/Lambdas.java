// Lambdas, method references, captured state and streams.
//
// expect: output
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

public class Lambdas {
    private int state = 1;

    IntSupplier counter() {
        return () -> state++;
    }

    static IntSupplier counterFrom(int start) {
        int[] next = {start};
        return () -> next[0]++;
    }

    int plusState(int n) {
        return n + state;
    }

    public static void main(String[] args) throws InterruptedException {
        var object = new Lambdas();
        var counter = object.counter();
        int twice = counter.getAsInt() + counter.getAsInt();
        System.out.println("captured this " + twice + " " + object.state);
        var one = counterFrom(10);
        var other = counterFrom(20);
        System.out.println("captured array " + one.getAsInt() + one.getAsInt() + other.getAsInt());

        Function<String, Integer> toLength = String::length;
        Supplier<Lambdas> fresh = Lambdas::new;
        Function<Integer, Integer> bound = object::plusState;
        BiFunction<Lambdas, Integer, Integer> unbound = Lambdas::plusState;
        Function<Integer, int[]> array = int[]::new;
        System.out.println("references " + toLength.apply("four") + " " + fresh.get().state + " "
                + bound.apply(1) + " " + unbound.apply(object, 2) + " " + array.apply(3).length);

        Function<Integer, Function<Integer, Integer>> curried = a -> b -> a * 10 + b;
        System.out.println("curried " + curried.apply(4).apply(2)
                + " " + toLength.andThen(bound).apply("abc"));
        IntBinaryOperator[] gcd = new IntBinaryOperator[1];
        gcd[0] = (a, b) -> b == 0 ? a : gcd[0].applyAsInt(b, a % b);
        System.out.println("recursive " + gcd[0].applyAsInt(84, 36));
        long wide = 1L << 40;
        double half = 0.5;
        Supplier<String> mixed = () -> wide + " " + half + " " + args.length;
        System.out.println("wide captures " + mixed.get());

        streams();
        threads(object);
    }

    static void streams() {
        var words = List.of("pear", "fig", "apple", "kiwi", "plum");
        Map<Integer, List<String>> byLength = words.stream()
                .collect(Collectors.groupingBy(String::length, TreeMap::new, Collectors.toList()));
        System.out.println("grouped " + byLength);
        var backwards = Comparator.<String>reverseOrder();
        var shortFirst = Comparator.comparing(String::length).thenComparing(backwards);
        var sorted = words.stream().sorted(shortFirst).collect(Collectors.joining(" "));
        System.out.println("sorted " + sorted);
        var squares = IntStream.range(0, 5).map(i -> i * i).boxed();
        System.out.println("squares " + squares.collect(Collectors.toList()));
        var powers = Stream.iterate(1, i -> i * 2).limit(8);
        System.out.println("powers " + powers.reduce(0, Integer::sum));
    }

    static void threads(Lambdas object) throws InterruptedException {
        object.state = 0;
        Runnable add = () -> {
            for (int i = 0; i < 50; i++) {
                synchronized (object) {
                    object.state++;
                }
            }
        };
        var threads = Stream.of("a", "b", "c").map(name -> new Thread(add, name))
                .collect(Collectors.toList());
        threads.forEach(Thread::start);
        for (var thread : threads) {
            thread.join();
        }
        System.out.println("from threads " + object.state);
    }
}
