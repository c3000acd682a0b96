// The smallest lost update: value++ by two threads.
//
// Meant to be atomic: Counter.increment. The one line is a read, an addition and a write; whatever
// another thread writes between the read and the write is lost:
//
//   Alice  Counter.java:20  reads value 0
//   Bob    Counter.java:20  reads value 0
//   Bob    Counter.java:20  writes value 1
//   Alice  Counter.java:20  writes value 1 again
//
// The argument is the number of increments of each thread, 1 by default.
//
// expect: violation Counter.increment
// whole:  value 2
// torn:   value 1, expected 2
public class Counter {
    private int value;

    void increment() {
        value++;
    }

    public static void main(String[] args) throws InterruptedException {
        int times = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        var counter = new Counter();
        Runnable work = () -> {
            for (int i = 0; i < times; i++) {
                counter.increment();
            }
        };
        var alice = new Thread(work, "Alice");
        var bob = new Thread(work, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        boolean whole = counter.value == 2 * times;
        System.out.println("value " + counter.value + (whole ? "" : ", expected " + 2 * times));
    }
}
