// Thread pools: fixed, scheduled, fork and join, completable futures, parallel streams.
//
// expect: output
import static java.util.concurrent.Executors.newCachedThreadPool;
import static java.util.concurrent.Executors.newFixedThreadPool;
import static java.util.concurrent.Executors.newScheduledThreadPool;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

public class Executors {
    public static void main(String[] args) throws Exception {
        fixedPool();
        cachedPool();
        scheduledPool();
        completableFuture();
        forkJoin();
        parallelStream();
    }

    static void fixedPool() throws Exception {
        var pool = newFixedThreadPool(3);
        var squares = new ArrayList<Future<Integer>>();
        for (int i = 0; i < 10; i++) {
            int n = i;
            squares.add(pool.submit(() -> n * n));
        }
        int sum = 0;
        for (var square : squares) {
            sum += square.get();
        }
        Future<?> failing = pool.submit(() -> {
            throw new IllegalStateException("in a task");
        });
        try {
            failing.get();
        } catch (ExecutionException e) {
            System.out.println("fixed: failed with " + e.getCause().getMessage());
        }
        pool.shutdown();
        boolean ended = pool.awaitTermination(10, TimeUnit.SECONDS);
        try {
            pool.submit(() -> 1);
        } catch (RejectedExecutionException e) {
            System.out.println("fixed: rejected after shutdown");
        }
        System.out.println("fixed: sum " + sum + ", ended " + ended);
    }

    static void cachedPool() throws Exception {
        var pool = newCachedThreadPool();
        List<Callable<String>> words = List.of(() -> "one", () -> "two", () -> "three");
        var text = new StringBuilder();
        for (var word : pool.invokeAll(words)) {
            text.append(' ').append(word.get());
        }
        System.out.println("cached:" + text);
        var never = new CountDownLatch(1);
        var stuck = pool.submit(() -> {
            never.await();
            return 0;
        });
        System.out.println("cached: cancelled " + stuck.cancel(true) + " " + stuck.isCancelled());
        pool.shutdownNow();
        System.out.println("cached: ended " + pool.awaitTermination(10, TimeUnit.SECONDS));
    }

    static void scheduledPool() throws Exception {
        var pool = newScheduledThreadPool(2);
        var ticks = new CountDownLatch(3);
        var ticker = pool.scheduleAtFixedRate(ticks::countDown, 1, 1, TimeUnit.MILLISECONDS);
        var late = pool.schedule(() -> "late", 5, TimeUnit.MILLISECONDS);
        ticks.await();
        ticker.cancel(false);
        System.out.println("scheduled: three ticks, then " + late.get());
        pool.shutdown();
        System.out.println("scheduled: ended " + pool.awaitTermination(10, TimeUnit.SECONDS));
    }

    static void completableFuture() throws Exception {
        var left = CompletableFuture.supplyAsync(() -> 20);
        var right = CompletableFuture.supplyAsync(() -> 1).thenApplyAsync(x -> x + 1);
        var both = left.thenCombine(right, (l, r) -> l + r);
        var rescued = CompletableFuture.<Integer>supplyAsync(() -> {
            throw new IllegalStateException();
        }).exceptionally(e -> -1);
        var byHand = new CompletableFuture<String>();
        new Thread(() -> byHand.complete("by hand"), "completer").start();
        System.out.println("completable: " + both.get() + " " + rescued.get() + " " + byHand.get());
    }

    static void forkJoin() {
        var pool = new ForkJoinPool(3);
        System.out.println("fork and join: " + pool.invoke(new Sum(0, 2000)));
        pool.shutdown();
    }

    static class Sum extends RecursiveTask<Long> {
        private static final long serialVersionUID = 1;
        private final int from;
        private final int to;

        Sum(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected Long compute() {
            if (to - from <= 100) {
                return LongStream.range(from, to).sum();
            }
            int middle = (from + to) / 2;
            var left = new Sum(from, middle);
            var right = new Sum(middle, to);
            left.fork();
            return right.compute() + left.join();
        }
    }

    static void parallelStream() {
        var visits = new AtomicInteger();
        var numbers = IntStream.rangeClosed(1, 1000).parallel();
        int sum = numbers.peek(i -> visits.incrementAndGet()).sum();
        System.out.println("parallel stream: sum " + sum + ", visits " + visits);
        var texts = IntStream.range(0, 10).parallel().mapToObj(Integer::toString);
        var ordered = texts.collect(Collectors.toList());
        System.out.println("parallel stream: " + ordered);
    }
}
