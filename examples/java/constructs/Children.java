// Files that are written and read by several threads, and child processes: what they print, what they are told, how they
// end, and one that has to be ended.
//
// expect: output
// replay: in which pieces children deliver

import java.io.*;
import java.nio.file.*;
import java.util.concurrent.TimeUnit;

class Children {
    public static void main(String[] args) throws Exception {
        files();
        prints();
        echoes();
        ends();
    }

    static void files() throws Exception {
        Path file = Files.createTempFile("untorn", ".txt");
        Thread[] writing = new Thread[2];
        for (int i = 0; i < 2; i++) {
            String line = "line " + i + "\n";
            writing[i] = new Thread(() -> {
                try {
                    Files.writeString(file, line, StandardOpenOption.APPEND);
                } catch (IOException error) {
                    System.out.println(error);
                }
            });
            writing[i].start();
        }
        for (Thread thread : writing) thread.join();
        System.out.println("lines " + Files.readAllLines(file).stream().sorted().toList());
        try (var in = new FileInputStream(file.toFile()); var random = new RandomAccessFile(file.toFile(), "r")) {
            random.seek(5);
            System.out.println("length " + in.readAllBytes().length + ", then " + (random.read() != -1));
        }
        Files.delete(file);
    }

    static void prints() throws Exception {
        Process child = new ProcessBuilder("sh", "-c", "echo one; sleep 0.1; echo two; exit 3").start();
        try (var in = new BufferedReader(new InputStreamReader(child.getInputStream()))) {
            System.out.println(in.readLine() + " " + in.readLine() + " " + in.readLine());
        }
        System.out.println("code " + child.waitFor());
    }

    static void echoes() throws Exception {
        Process child = new ProcessBuilder("cat").start();
        Thread telling = new Thread(() -> {
            try (var out = new PrintWriter(child.getOutputStream(), true)) {
                for (int i = 0; i < 50; i++) out.println(i);
            }
        });
        telling.start();
        int sum = 0;
        try (var in = new BufferedReader(new InputStreamReader(child.getInputStream()))) {
            for (String line; (line = in.readLine()) != null;) sum += Integer.parseInt(line);
        }
        telling.join();
        System.out.println("echoed " + sum + ", code " + child.waitFor());
    }

    static void ends() throws Exception {
        Process child = new ProcessBuilder("sleep", "60").start();
        System.out.println("ended " + child.waitFor(10, TimeUnit.MILLISECONDS));
        child.destroyForcibly().waitFor();
        System.out.println("alive " + child.isAlive());
    }
}
