// Two threads take turns at a plain field; a volatile flag says whose turn it is.
//
// Meant to be atomic: Relay.step. It has no lock and needs none: only the thread whose turn it is
// touches `value`, and the volatile write at the end of a step hands it over. Tools that look for
// locks raise a false alarm here.
//
// The threads spin until it is their turn, outside of the block. The argument is the number of
// steps of each, 10 by default.
//
// expect: serializable
public class VolatileHandOver {
    public static void main(String[] args) throws InterruptedException {
        int steps = args.length > 0 ? Integer.parseInt(args[0]) : 10;
        var relay = new Relay();
        var ping = new Thread(() -> relay.run(0, steps), "ping");
        var pong = new Thread(() -> relay.run(1, steps), "pong");
        ping.start();
        pong.start();
        ping.join();
        pong.join();
        System.out.println("value " + relay.value);
    }
}

class Relay {
    private volatile int turn;
    int value;

    void run(int me, int steps) {
        for (int i = 0; i < steps; i++) {
            awaitTurn(me);
            step(1 - me);
        }
    }

    private void awaitTurn(int me) {
        while (turn != me) {
            Thread.yield();
        }
    }

    private void step(int next) {
        int seen = value;
        value = seen + 1;
        turn = next;
    }
}
