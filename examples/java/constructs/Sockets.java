// What threads of one program tell each other through sockets: a question and an answer, more than a buffer holds,
// a limit of time that passes, and an end by closing.
//
// expect: output
// replay: how the kernel cuts what is more than its buffers hold

import java.io.*;
import java.net.*;

class Sockets {
    static final InetAddress HERE = InetAddress.getLoopbackAddress();

    public static void main(String[] args) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 5, HERE)) {
            answers(server);
            floods(server);
            passes(server);
        }
        closes();
    }

    static void answers(ServerSocket server) throws Exception {
        Thread answering = new Thread(() -> {
            try (Socket socket = server.accept()) {
                socket.setTcpNoDelay(true);
                var in = new DataInputStream(socket.getInputStream());
                var out = new DataOutputStream(socket.getOutputStream());
                for (int i = 0; i < 20; i++) out.writeInt(in.readInt() * 2);
            } catch (IOException error) {
                System.out.println(error);
            }
        });
        answering.start();
        int sum = 0;
        try (Socket socket = new Socket(HERE, server.getLocalPort())) {
            socket.setTcpNoDelay(true);
            var in = new DataInputStream(socket.getInputStream());
            var out = new DataOutputStream(socket.getOutputStream());
            for (int i = 0; i < 20; i++) {
                out.writeInt(i);
                sum += in.readInt();
            }
        }
        answering.join();
        System.out.println("answers " + sum);
    }

    static void floods(ServerSocket server) throws Exception {
        Thread flooding = new Thread(() -> {
            try (Socket socket = new Socket(HERE, server.getLocalPort())) {
                OutputStream out = socket.getOutputStream();
                byte[] piece = new byte[64 * 1024];
                for (int i = 0; i < 200; i++) out.write(piece);
            } catch (IOException error) {
                System.out.println(error);
            }
        });
        flooding.start();
        long length = 0;
        try (Socket socket = server.accept()) {
            byte[] piece = new byte[10_000];
            int read;
            while ((read = socket.getInputStream().read(piece)) >= 0) length += read;
        }
        flooding.join();
        System.out.println("flood " + length);
    }

    static void passes(ServerSocket server) throws Exception {
        server.setSoTimeout(20);
        try {
            server.accept();
        } catch (SocketTimeoutException expected) {
            System.out.println("nobody came");
        }
        try (Socket socket = new Socket(HERE, server.getLocalPort()); Socket other = server.accept()) {
            socket.setSoTimeout(20);
            try {
                socket.getInputStream().read();
            } catch (SocketTimeoutException expected) {
                System.out.println("nothing came");
            }
            other.getOutputStream().write(7);
            System.out.println("then " + socket.getInputStream().read());
        }
    }

    static void closes() throws Exception {
        ServerSocket server = new ServerSocket(0, 5, HERE);
        Thread waiting = new Thread(() -> {
            try {
                server.accept();
            } catch (IOException expected) {
                System.out.println("closed");
            }
        });
        waiting.start();
        Thread.sleep(50);
        server.close();
        waiting.join();
    }
}
