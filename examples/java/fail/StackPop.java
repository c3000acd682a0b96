// A client of java.util.Stack asks whether it is empty and then takes an element: two calls, each of
// them locked, and a gap between them.
//
// Meant to be atomic: Shelf.take. Both takers find the one element there, the second one comes too
// late (lines of java.util.Stack and java.util.Vector in JDK 17.0.15):
//
//   slow   StackPop.java:41  is told that there is an element
//   quick  StackPop.java:42  takes it
//   slow   StackPop.java:42  throws: there is none
//
// No good run shows both takers in `pop`: who comes second sees an empty stack and goes away.
//
// expect: violation Shelf.take
// whole:  one took it, one went away
// torn:   one took it, one fell over: EmptyStackException
import java.util.EmptyStackException;
import java.util.Stack;

public class StackPop {
    public static void main(String[] args) throws InterruptedException {
        var shelf = new Shelf();
        var slow = new Thread(shelf::visit, "slow");
        var quick = new Thread(shelf::visit, "quick");
        slow.start();
        quick.start();
        slow.join();
        quick.join();
        System.out.println("one took it, " + shelf.other());
    }
}

class Shelf {
    private final Stack<String> books = new Stack<>();
    private volatile String other = "one went away";

    Shelf() {
        books.push("the only copy");
    }

    private void take() {
        if (!books.empty()) {
            books.pop();
        }
    }

    void visit() {
        try {
            take();
        } catch (EmptyStackException e) {
            other = "one fell over: EmptyStackException";
        }
    }

    String other() {
        return other;
    }
}
