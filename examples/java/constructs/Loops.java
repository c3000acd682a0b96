// Threads in loops of every form that never end and do nothing that others could see: they do not keep the others from
// running, and end with the program.
//
// expect: output
public class Loops {
    // Nothing decides whether this goes on.
    static void forever() {
        long rounds = 0;
        while (true) {
            rounds++;
        }
    }

    static void doForever() {
        int rounds = 0;
        do {
            rounds += 3;
        } while (true);
    }

    static void forForever(int start) {
        for (int i = start; ; i ^= 1) {
            start += i;
        }
    }

    static void nested() {
        while (true) {
            for (int i = 0; i < 3; i++) {
                Math.abs(i);
            }
        }
    }

    static void daemon(Runnable body) {
        var thread = new Thread(body);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws InterruptedException {
        daemon(Loops::forever);
        daemon(Loops::doForever);
        daemon(() -> forForever(7));
        daemon(Loops::nested);
        var worker = new Thread(() -> System.out.println("worker"));
        worker.start();
        worker.join();
        System.out.println("end");
    }
}
