// The queue of LostTask, locked.
//
// Meant to be atomic: LostTaskFixed.put, and it is: it holds the lock of the queue.
//
// expect: serializable
public class LostTaskFixed {
    private final Runnable[] tasks = new Runnable[8];
    private int end;
    private int done;

    private synchronized void put(Runnable task) {
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
        var queue = new LostTaskFixed();
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
