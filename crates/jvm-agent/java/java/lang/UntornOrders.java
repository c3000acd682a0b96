package java.lang;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Phaser;
import java.util.concurrent.Semaphore;

/**
 * Probes of what orders threads without being a lock: latches, semaphores, barriers, futures. The thread that
 * releases others and the released threads access the same variable. Its values are version numbers, see {@link
 * UntornCollections}.
 */
public final class UntornOrders {
    // An update has three sites: its read, its write, and the read of an update that failed.
    private static final int WRITTEN = 1;
    private static final int SEEN = 2;

    private UntornOrders() {}

    /**
     * Before a call that lets other threads continue. The thread keeps the token until the call has begun, so no
     * other thread observes the record without the call.
     */
    public static void release(Object target, int site) {
        if (target == null || !UntornProbe.here()) return;
        UntornProbe.endStep();
        int field = field(target);
        if (field < 0 || !UntornProbe.here()) return;
        int object = UntornValues.id(target);
        long version = UntornCollections.version(object, field);
        UntornCollections.setVersion(object, field, version + 1);
        UntornProbe.putFirst(site, object, version, field);
        UntornProbe.putFirst(site + WRITTEN, object, version + 1, field);
    }

    /** After a call that observed what others did. */
    public static void observe(Object target, int site) {
        if (target == null || !UntornProbe.here()) return;
        int field = field(target);
        if (field < 0) return;
        int object = UntornValues.id(target);
        UntornProbe.put(site + SEEN, object, UntornCollections.version(object, field), field);
    }

    /** After a call that took something which others can no longer take. */
    public static void acquire(Object target, int site) {
        if (target == null || !UntornProbe.here()) return;
        int field = field(target);
        if (field < 0) return;
        int object = UntornValues.id(target);
        long version = UntornCollections.version(object, field);
        UntornCollections.setVersion(object, field, version + 1);
        UntornProbe.putFirst(site, object, version, field);
        UntornProbe.put(site + WRITTEN, object, version + 1, field);
    }

    public static void acquire(boolean done, Object target, int site) {
        if (done) {
            acquire(target, site);
        } else {
            observe(target, site);
        }
    }

    // ---- names of variables: after the class of the JDK, which has no recorded field ----

    private static final String[] NAMES = {
        "CountDownLatch", "Semaphore", "CyclicBarrier", "Phaser", "Exchanger", "FutureTask", "CompletableFuture",
        "ForkJoinTask", "BlockingQueue"
    };

    /** For each class, the number of its variable plus one; 0 while not known. */
    private static final int[] FIELDS = new int[NAMES.length];

    /** The number of the variable; negative if the class is not one of these. */
    private static int field(Object target) {
        int kind = kind(target);
        if (kind < 0) return -1;
        if (FIELDS[kind] == 0) {
            UntornProbe.suspendRecording();
            try {
                String name = "java.util.concurrent.".concat(NAMES[kind]);
                FIELDS[kind] = UntornProbe.fieldNumber(name, "@state", "J", UntornProbe.SYNC_STATE) + 1;
            } finally {
                UntornProbe.resumeRecording();
            }
        }
        return FIELDS[kind] - 1;
    }

    private static int kind(Object target) {
        if (target instanceof ForkJoinTask) return 7;
        if (target instanceof CompletableFuture) return 6;
        if (target instanceof FutureTask) return 5;
        if (target instanceof CountDownLatch) return 0;
        if (target instanceof Semaphore) return 1;
        if (target instanceof CyclicBarrier) return 2;
        if (target instanceof Phaser) return 3;
        if (target instanceof Exchanger) return 4;
        return target instanceof BlockingQueue ? 8 : -1;
    }
}
