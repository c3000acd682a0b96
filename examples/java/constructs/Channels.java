// Channels: a thread with a selector answers two others, one of them a datagram; a pipe; a selector that is woken and one
// whose time passes.
//
// expect: output
// replay: which of several connections is ready first

import java.io.IOException;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.*;

class Channels {
    static final InetAddress HERE = InetAddress.getLoopbackAddress();

    public static void main(String[] args) throws Exception {
        serves();
        pipes();
        wakes();
    }

    static void serves() throws Exception {
        Selector selector = Selector.open();
        ServerSocketChannel server = ServerSocketChannel.open().bind(new InetSocketAddress(HERE, 0));
        DatagramChannel post = DatagramChannel.open().bind(new InetSocketAddress(HERE, 0));
        server.configureBlocking(false).register(selector, SelectionKey.OP_ACCEPT);
        post.configureBlocking(false).register(selector, SelectionKey.OP_READ);
        Thread serving = new Thread(() -> {
            try {
                serve(selector, server);
            } catch (IOException error) {
                System.out.println(error);
            }
        });
        serving.start();
        int[] sums = new int[2];
        Thread[] asking = new Thread[2];
        for (int i = 0; i < 2; i++) {
            int me = i;
            asking[i] = new Thread(() -> {
                try (SocketChannel channel = SocketChannel.open(server.getLocalAddress())) {
                    ByteBuffer buffer = ByteBuffer.allocate(1);
                    for (int j = 0; j < 10; j++) sums[me] += ask(channel, buffer, (byte) (me * 10 + j));
                } catch (IOException error) {
                    System.out.println(error);
                }
            });
            asking[i].start();
        }
        for (Thread thread : asking) thread.join();
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.send(new DatagramPacket(new byte[] {1}, 1, post.getLocalAddress()));
            DatagramPacket answer = new DatagramPacket(new byte[1], 1);
            socket.receive(answer);
            System.out.println("datagram " + answer.getData()[0]);
        }
        serving.join();
        System.out.println("sums " + sums[0] + " " + sums[1]);
    }

    static int ask(SocketChannel channel, ByteBuffer buffer, byte value) throws IOException {
        channel.write(buffer.clear().put(value).flip());
        channel.read(buffer.clear());
        return buffer.get(0);
    }

    /** Answers until a datagram came and both connections are closed. */
    static void serve(Selector selector, ServerSocketChannel server) throws IOException {
        ByteBuffer buffer = ByteBuffer.allocate(16);
        int closed = 0;
        boolean posted = false;
        while (closed < 2 || !posted) {
            selector.select();
            for (var keys = selector.selectedKeys().iterator(); keys.hasNext(); keys.remove()) {
                SelectionKey key = keys.next();
                if (key.isAcceptable()) {
                    SocketChannel accepted = server.accept();
                    accepted.configureBlocking(false).register(selector, SelectionKey.OP_READ);
                } else if (key.channel() instanceof DatagramChannel) {
                    DatagramChannel post = (DatagramChannel) key.channel();
                    SocketAddress from = post.receive(buffer.clear());
                    post.send(buffer.clear().put((byte) 99).flip(), from);
                    posted = true;
                } else if (!answer((SocketChannel) key.channel(), buffer)) {
                    key.channel().close();
                    closed++;
                }
            }
        }
        selector.close();
        server.close();
    }

    static boolean answer(SocketChannel channel, ByteBuffer buffer) throws IOException {
        if (channel.read(buffer.clear()) < 0) return false;
        buffer.flip();
        for (int i = 0; i < buffer.limit(); i++) buffer.put(i, (byte) (buffer.get(i) + 1));
        channel.write(buffer);
        return true;
    }

    static void pipes() throws Exception {
        Pipe pipe = Pipe.open();
        Thread reading = new Thread(() -> {
            ByteBuffer buffer = ByteBuffer.allocate(8);
            int sum = 0;
            try {
                while (pipe.source().read(buffer.clear()) >= 0) {
                    buffer.flip();
                    while (buffer.hasRemaining()) sum += buffer.get();
                }
            } catch (IOException error) {
                System.out.println(error);
            }
            System.out.println("pipe " + sum);
        });
        reading.start();
        for (byte i = 0; i < 30; i++) pipe.sink().write(ByteBuffer.wrap(new byte[] {i}));
        pipe.sink().close();
        reading.join();
    }

    static void wakes() throws Exception {
        Selector selector = Selector.open();
        Thread waiting = new Thread(() -> {
            try {
                System.out.println("woken " + selector.select());
            } catch (IOException error) {
                System.out.println(error);
            }
        });
        waiting.start();
        Thread.sleep(10);
        selector.wakeup();
        waiting.join();
        System.out.println("in vain " + selector.select(20) + " " + selector.selectNow());
    }
}
