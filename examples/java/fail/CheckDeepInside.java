// A check in one method, and the act far below it, in a method that is called by one that it calls.
//
// Meant to be atomic: CheckDeepInside.reserve. It looks at the seat, and two calls below the seat is taken:
//
//   Alice  sees that the seat is free
//   Bob    sees that the seat is free
//   Bob    takes it
//   Alice  takes it as well
//
// expect: violation CheckDeepInside.reserve
// whole:  1 ticket
// torn:   2 tickets
import java.util.concurrent.atomic.AtomicInteger;

public class CheckDeepInside {
    private final AtomicInteger tickets = new AtomicInteger();
    private String owner;

    private synchronized String owner() {
        return owner;
    }

    private synchronized void setOwner(String name) {
        owner = name;
    }

    private void reserve(String name) {
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
        var seat = new CheckDeepInside();
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
