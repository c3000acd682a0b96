// A client of LinkedBlockingQueue asks whether it is empty and then takes an element: two calls, each of
// them safe, and a gap between them.
//
// Meant to be atomic: Desk.serve. Both clerks find the one job there, the second one comes too late:
//
//   slow   QueueRemove.java:38  is told that there is a job
//   quick  QueueRemove.java:39  takes it
//   slow   QueueRemove.java:39  throws: there is none
//
// expect: violation Desk.serve
// whole:  one served, one went home
// torn:   one served, one fell over: NoSuchElementException
import java.util.NoSuchElementException;
import java.util.concurrent.LinkedBlockingQueue;

public class QueueRemove {
    public static void main(String[] args) throws InterruptedException {
        var desk = new Desk();
        var slow = new Thread(desk::work, "slow");
        var quick = new Thread(desk::work, "quick");
        slow.start();
        quick.start();
        slow.join();
        quick.join();
        System.out.println("one served, " + desk.other());
    }
}

class Desk {
    private final LinkedBlockingQueue<String> jobs = new LinkedBlockingQueue<>();
    private volatile String other = "one went home";

    Desk() {
        jobs.add("the only one");
    }

    private void serve() {
        if (!jobs.isEmpty()) {
            jobs.remove();
        }
    }

    void work() {
        try {
            serve();
        } catch (NoSuchElementException e) {
            other = "one fell over: NoSuchElementException";
        }
    }

    String other() {
        return other;
    }
}
