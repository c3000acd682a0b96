// Threads with names of their own, of somebody else, changed names, and subclasses of Thread.
//
// A name is no identity: four threads are called "twin" here, one of them only for a while.
//
// expect: output
import java.util.concurrent.CountDownLatch;

public class ThreadNames {
    static int steps;

    static synchronized void step() {
        steps++;
    }

    static class Overridden extends Thread {
        private final String greeting;

        Overridden(String name, String greeting) {
            super(name);
            this.greeting = greeting;
        }

        @Override
        public synchronized void start() {
            System.out.println(greeting + " starts");
            super.start();
        }

        @Override
        public void run() {
            System.out.println(greeting + " runs as " + getName());
            super.run();
            step();
        }
    }

    static class Both extends Thread {
        Both(Runnable target) {
            super(target, "both");
        }

        @Override
        public void run() {
            super.run();
            step();
        }
    }

    static void finish(Thread thread) throws InterruptedException {
        thread.start();
        thread.join();
    }

    public static void main(String[] args) throws InterruptedException {
        System.out.println("main is called " + Thread.currentThread().getName());
        finish(new Overridden("sub", "subclass"));
        finish(new Both(ThreadNames::step));
        System.out.println("steps " + steps);

        var release = new CountDownLatch(1);
        var twins = new Thread[3];
        for (int i = 0; i < twins.length; i++) {
            twins[i] = new Thread(() -> {
                try {
                    release.await();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                step();
            }, "twin");
            twins[i].start();
        }
        var renamed = new Thread(() -> {
            var self = Thread.currentThread();
            self.setName("twin");
            step();
            self.setName("renamed");
            step();
        }, "original");
        finish(renamed);
        release.countDown();
        for (var twin : twins) {
            twin.join();
        }
        System.out.println("renamed to " + renamed.getName() + ", steps " + steps);

        finish(new Thread(ThreadNames::step, ""));
        finish(new Thread(ThreadNames::step, "Zo\u00eb \"quoted\" \\ \t \u7dda"));
        var group = new ThreadGroup("group");
        finish(new Thread(group, ThreadNames::step, "grouped"));
        finish(new Thread(ThreadNames::step));
        finish(new Thread());
        System.out.println("steps " + steps);

        var once = new Thread(ThreadNames::step, "once");
        finish(once);
        try {
            once.start();
        } catch (IllegalThreadStateException e) {
            System.out.println("started twice");
        }
        var unstarted = new Thread(ThreadNames::step, "unstarted");
        unstarted.join();
        unstarted.run();
        System.out.println("run without a start, steps " + steps + ", " + unstarted.getState());
        var ids = new Thread("a").getId() != new Thread("a").getId();
        System.out.println("different ids " + ids);
    }
}
