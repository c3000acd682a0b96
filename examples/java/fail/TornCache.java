// A cache of the last result: the number and its square are two fields, each volatile. A reader finds its number there,
// with the square of another one.
//
// Meant to be atomic: TornCache.square.
//
//   Alice  sees that the last number is 3
//   Bob    stores 4 and 16
//   Alice  takes the last square: 16
//
// expect: violation TornCache.square
// whole:  squares are right
// torn:   3 * 3 is 16
// or:     4 * 4 is 9
public class TornCache {
    private volatile int lastNumber;
    private volatile int lastSquare;
    private volatile String fault;

    private int square(int number) {
        if (number == lastNumber) {
            return lastSquare;
        }
        int square = number * number;
        lastNumber = number;
        lastSquare = square;
        return square;
    }

    private void ask(int number) {
        for (int i = 0; i < 2; i++) {
            int square = square(number);
            if (square != number * number) {
                fault = number + " * " + number + " is " + square;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var cache = new TornCache();
        var alice = new Thread(() -> cache.ask(3), "Alice");
        var bob = new Thread(() -> cache.ask(4), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println(cache.fault == null ? "squares are right" : cache.fault);
    }
}
