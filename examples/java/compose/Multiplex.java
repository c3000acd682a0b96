// ICFinder's Listing 4: a channel is registered, and if anything fails all channels are shut down.
// The second call runs only in the handler of what the first throws.
//
// expect: use Multiplexer.multiplex Channels.addChannel Channels.disconnect
// What runs in `finally` runs either way and depends on nothing:
// expect: no-use Multiplexer.always Channels.addChannel Channels.trim
// output: any
import java.util.ArrayList;
import java.util.List;

class Channels {
    private final List<String> open = new ArrayList<>();
    private boolean connected = true;

    synchronized void addChannel(String channel) throws java.io.IOException {
        if (!connected) {
            throw new java.io.IOException("shut down");
        }
        open.add(channel);
    }

    synchronized void disconnect() {
        connected = false;
        open.clear();
    }

    synchronized void trim() {
        connected = true;
    }
}

class Multiplexer {
    private final Channels channels = new Channels();

    void multiplex(String name) {
        try {
            String local = name.trim();
            channels.addChannel(local);
            System.out.println(local);
        } catch (Exception e) {
            channels.disconnect();
        }
    }

    void always(String name) throws java.io.IOException {
        try {
            channels.addChannel(name);
        } finally {
            System.out.println(name);
        }
    }
}

public class Multiplex {
    public static void main(String[] args) {
        Multiplexer multiplexer = new Multiplexer();
        new Thread(() -> multiplexer.multiplex("a")).start();
        multiplexer.multiplex("b");
    }
}
