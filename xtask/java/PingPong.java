/** Two threads that yield to each other: with one event between two switches. */
public class PingPong {
    static int count;

    public static void main(String[] args) throws InterruptedException {
        int n = Integer.parseInt(args[0]);
        var other = new Thread(() -> play(n));
        other.start();
        play(n);
        other.join();
    }

    static void play(int n) {
        for (int i = 0; i < n; i++) {
            count++;
            Thread.yield();
        }
    }
}
