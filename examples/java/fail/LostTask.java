// A work queue that loses a task: two producers put their tasks into the same place.
//
// Meant to be atomic: LostTask.put, which writes a task and moves the end of the queue:
//
//   Alice  reads the end
//   Bob    reads the end, puts his task there, moves the end
//   Alice  puts her task over Bob's
//
// expect: violation LostTask.put
// whole:  2 tasks done
// torn:   1 task done
public class LostTask {
    private final Runnable[] tasks = new Runnable[8];
    private int end;
    private int done;

    private void put(Runnable task) {
        tasks[end] = task;
        end = end + 1;
    }

    private void work() {
        for (var task : tasks) {
            if (task != null) {
                task.run();
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var queue = new LostTask();
        var alice = new Thread(() -> queue.put(() -> queue.done++), "Alice");
        var bob = new Thread(() -> queue.put(() -> queue.done++), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        queue.work();
        System.out.println(queue.done == 1 ? "1 task done" : queue.done + " tasks done");
    }
}
