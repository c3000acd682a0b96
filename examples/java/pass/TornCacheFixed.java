// The cache of TornCache, locked: number and square are read and written together.
//
// Meant to be atomic: TornCacheFixed.square, and it is: it holds the lock of the cache.
//
// expect: serializable
public class TornCacheFixed {
    private int lastNumber;
    private int lastSquare;
    private volatile String fault;

    private synchronized int square(int number) {
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
        var cache = new TornCacheFixed();
        var alice = new Thread(() -> cache.ask(3), "Alice");
        var bob = new Thread(() -> cache.ask(4), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println(cache.fault == null ? "squares are right" : cache.fault);
    }
}
