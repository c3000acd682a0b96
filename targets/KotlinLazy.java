// Kotlin 1.9.24: four threads ask for the same lazy values, and work on sequences and texts of their own.
//
// Who computes a lazy value depends on the schedule and is not printed; that it is computed once does not.
//
// maven: org.jetbrains.kotlin:kotlin-stdlib:1.9.24
// expect: output
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import kotlin.Lazy;
import kotlin.LazyKt;
import kotlin.sequences.Sequence;
import kotlin.sequences.SequencesKt;
import kotlin.text.Regex;

public class KotlinLazy {
    static final int THREADS = 4;
    static final int VALUES = 40;

    public static void main(String[] args) throws InterruptedException {
        var computed = new AtomicInteger();
        List<Lazy<Integer>> values = new ArrayList<>();
        for (int value = 0; value < VALUES; value++) {
            int own = value;
            values.add(LazyKt.lazy(() -> own * own + 0 * computed.incrementAndGet()));
        }
        var sums = new long[THREADS];
        var threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> sums[own] = use(values, own), "user " + number);
            threads[number].start();
        }
        for (int number = 0; number < THREADS; number++) {
            threads[number].join();
            System.out.println("user " + number + ": " + sums[number]);
        }
        System.out.println("computed: " + computed.get());
    }

    static long use(List<Lazy<Integer>> values, int own) {
        long sum = 0;
        for (int turn = 0; turn < VALUES; turn++) {
            sum += values.get((turn + 10 * own) % VALUES).getValue();
        }
        Sequence<Integer> numbers = SequencesKt.generateSequence(own + 1, number -> number < 2000 ? number * 3 : null);
        var words = SequencesKt.joinToString(numbers, " ", "", "", -1, "", null);
        return sum + SequencesKt.count(new Regex("[0-9]+").findAll(words, 0));
    }
}
