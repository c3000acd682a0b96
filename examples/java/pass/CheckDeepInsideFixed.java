// The seat of CheckDeepInside, locked from the check to the act.
//
// Meant to be atomic: CheckDeepInsideFixed.reserve, and it is: it holds the lock of the seat all the time.
//
// expect: serializable
import java.util.concurrent.atomic.AtomicInteger;

public class CheckDeepInsideFixed {
    private final AtomicInteger tickets = new AtomicInteger();
    private String owner;

    private synchronized String owner() {
        return owner;
    }

    private synchronized void setOwner(String name) {
        owner = name;
    }

    private synchronized void reserve(String name) {
        if (owner() == null) {
            book(name);
        }
    }

    private void book(String name) {
        print(name);
    }

    private void print(String name) {
        setOwner(name);
        tickets.incrementAndGet();
    }

    public static void main(String[] args) throws InterruptedException {
        var seat = new CheckDeepInsideFixed();
        var alice = new Thread(() -> seat.reserve("Alice"), "Alice");
        var bob = new Thread(() -> seat.reserve("Bob"), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        int tickets = seat.tickets.get();
        System.out.println(tickets + (tickets == 1 ? " ticket" : " tickets"));
    }
}
