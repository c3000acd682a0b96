// Messages go through a buffer with room for two. A sender holds the lock of its channel while it waits for room.
//
// Meant to be atomic: Channel.send, as far as the channel is concerned: the messages of a channel keep their order. The
// buffer has a lock of its own, and a sender that waits on it wants the receiver to take something out meanwhile. So
// the sender sees another size behind the wait than before it. Log4j 1 sends its events in this way.
//
// The argument is the number of messages of each sender, 5 by default.
//
// expect: serializable
import java.util.ArrayList;
import java.util.List;

public class WaitInside {
    public static void main(String[] args) throws InterruptedException {
        int messages = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        var channel = new Channel();
        Runnable work = () -> {
            for (int i = 0; i < messages; i++) {
                channel.send(i);
            }
        };
        var one = new Thread(work, "one");
        var other = new Thread(work, "other");
        var receiver = new Thread(() -> channel.receive(2 * messages), "receiver");
        one.start();
        other.start();
        receiver.start();
        one.join();
        other.join();
        receiver.join();
        System.out.println("sent " + channel.sent() + ", received " + channel.received());
    }
}

class Channel {
    private static final int ROOM = 2;

    private final List<Integer> buffer = new ArrayList<>();
    private int sent;
    private int received;

    synchronized void send(int message) {
        sent++;
        synchronized (buffer) {
            while (buffer.size() >= ROOM) {
                await();
            }
            buffer.add(message);
            buffer.notifyAll();
        }
    }

    void receive(int messages) {
        for (int i = 0; i < messages; i++) {
            synchronized (buffer) {
                while (buffer.isEmpty()) {
                    await();
                }
                buffer.remove(0);
                received++;
                buffer.notifyAll();
            }
        }
    }

    private void await() {
        try {
            buffer.wait();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    int sent() {
        return sent;
    }

    int received() {
        return received;
    }
}
