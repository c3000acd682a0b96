// The clocks, and what sleeps for them: only facts that hold however fast time goes by.
//
// expect: output
import java.time.Duration;
import java.time.Instant;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CountDownLatch;

public class Clocks {
    public static void main(String[] args) throws InterruptedException {
        monotonic();
        sleepTakesTime();
        betweenThreads();
        timer();
    }

    static void monotonic() {
        boolean backwards = false;
        long last = System.nanoTime();
        for (int i = 0; i < 1000; i++) {
            long now = System.nanoTime();
            backwards |= now - last < 0;
            last = now;
        }
        System.out.println("nanoTime goes backwards " + backwards);
        var century = Instant.parse("2000-01-01T00:00:00Z");
        System.out.println("this century " + (System.currentTimeMillis() > century.toEpochMilli()));
        System.out.println("Instant too " + Instant.now().isAfter(century));
    }

    static void sleepTakesTime() throws InterruptedException {
        long nanos = System.nanoTime();
        var instant = Instant.now();
        Thread.sleep(10);
        // A little less is allowed: the clocks need not agree to the last bit.
        long slept = System.nanoTime() - nanos;
        System.out.println("slept 9 ms or more " + (slept >= 9_000_000));
        long onTheWall = Duration.between(instant, Instant.now()).toMillis();
        System.out.println("on the wall too " + (onTheWall >= 5));
        var lock = new Object();
        nanos = System.nanoTime();
        synchronized (lock) {
            lock.wait(10);
        }
        System.out.println("waited 9 ms or more " + (System.nanoTime() - nanos >= 9_000_000));
    }

    static void betweenThreads() throws InterruptedException {
        long before = System.nanoTime();
        long[] inside = {0};
        var reader = new Thread(() -> inside[0] = System.nanoTime(), "reader");
        reader.start();
        reader.join();
        long after = System.nanoTime();
        System.out.println("in order " + (inside[0] - before >= 0 && after - inside[0] >= 0));
    }

    static void timer() throws InterruptedException {
        var ticks = new CountDownLatch(3);
        var timer = new Timer("timer");
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                ticks.countDown();
            }
        }, 1, 1);
        ticks.await();
        timer.cancel();
        System.out.println("three ticks");
    }
}
