package java.lang;

import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;
import jdk.internal.vm.annotation.Hidden;

/**
 * Probes of {@code java.util.concurrent.locks}. The locks are not rewritten. They block through {@code
 * LockSupport.park}, which the scheduler controls; a probe records afterwards that a lock was acquired or released.
 *
 * <p>The value of a record encodes the kind of lock, and whether its shared side is meant.
 */
public final class UntornLocks {
    private static final int SHARED = 1;
    private static final int REENTRANT = 0;
    private static final int READ_WRITE = 2;
    private static final int STAMPED = 4;

    /** Offsets of the fields in which locks and conditions keep their common object; 0 while not known. */
    private static long inReentrant;
    private static long inWriter;
    private static long inReader;
    private static long inCondition;

    private UntornLocks() {}

    /** After a lock was acquired or released; the site determines which. */
    public static void acquiredOrReleased(Object lock, int site) {
        if (!UntornProbe.here()) return;
        int kind = kind(lock);
        if (kind >= 0) UntornProbe.put(site, UntornValues.id(key(lock, kind)), kind, 0);
    }

    /**
     * After an attempt. A failed one has observed that the lock is held, so it is recorded in the schedule, at the
     * next site.
     */
    public static void tried(boolean done, Object lock, int site) {
        if (done) {
            acquiredOrReleased(lock, site);
        } else if (UntornProbe.here()) {
            UntornProbe.put(site + 1, 0, 0, 0);
        }
    }

    /** The kind of the lock; negative if it is not a known one. */
    private static int kind(Object lock) {
        if (lock instanceof ReentrantLock) return REENTRANT;
        if (lock instanceof ReentrantReadWriteLock.WriteLock) return READ_WRITE;
        if (lock instanceof ReentrantReadWriteLock.ReadLock) return READ_WRITE | SHARED;
        String name = lock.getClass().getName();
        if (name.equals("java.util.concurrent.locks.StampedLock$ReadLockView")) return STAMPED | SHARED;
        return name.equals("java.util.concurrent.locks.StampedLock$WriteLockView") ? STAMPED : -1;
    }

    /** Both sides of a lock, and its conditions, have one object in common. */
    private static Object key(Object lock, int kind) {
        switch (kind) {
            case REENTRANT:
                if (inReentrant == 0) inReentrant = UntornValues.offset(ReentrantLock.class, "sync");
                return UntornValues.part(lock, inReentrant);
            case READ_WRITE:
                if (inWriter == 0) inWriter = UntornValues.offset(ReentrantReadWriteLock.WriteLock.class, "sync");
                return UntornValues.part(lock, inWriter);
            case READ_WRITE | SHARED:
                if (inReader == 0) inReader = UntornValues.offset(ReentrantReadWriteLock.ReadLock.class, "sync");
                return UntornValues.part(lock, inReader);
            default:
                return UntornValues.part(lock, UntornValues.offset(lock.getClass(), "this$0"));
        }
    }

    // ---- stamped locks: a stamp is 0 if the attempt failed ----

    public static void stamped(long stamp, Object lock, int site) {
        if (!UntornProbe.here()) return;
        if (stamp != 0) {
            put(site, lock, StampedLock.isReadLockStamp(stamp));
        } else {
            UntornProbe.put(site + 1, 0, 0, 0);
        }
    }

    /** After a stamp was released. */
    public static void unstamped(Object lock, long stamp, int site) {
        if (UntornProbe.here()) put(site, lock, StampedLock.isReadLockStamp(stamp));
    }

    public static void unstampedRead(boolean done, Object lock, int site) {
        if (done && UntornProbe.here()) put(site, lock, true);
    }

    public static void unstampedWrite(boolean done, Object lock, int site) {
        if (done && UntornProbe.here()) put(site, lock, false);
    }

    /**
     * Converts a stamp from one mode to another in one step: the site of the release, then the site of the
     * acquisition.
     */
    public static void converted(long result, Object lock, long stamp, int site) {
        if (result == 0 || result == stamp || !UntornProbe.here()) return;
        boolean acquires = StampedLock.isLockStamp(result);
        if (StampedLock.isLockStamp(stamp)) {
            int kind = STAMPED | (StampedLock.isReadLockStamp(stamp) ? SHARED : 0);
            if (acquires) {
                UntornProbe.putFirst(site, UntornValues.id(lock), kind, 0);
            } else {
                UntornProbe.put(site, UntornValues.id(lock), kind, 0);
            }
        }
        if (acquires) put(site + 1, lock, StampedLock.isReadLockStamp(result));
    }

    private static void put(int site, Object lock, boolean shared) {
        UntornProbe.put(site, UntornValues.id(lock), STAMPED | (shared ? SHARED : 0), 0);
    }

    // ---- conditions: the probe replaces the call; the site of the release, then the site of the reacquisition ----

    @Hidden
    public static void await(Condition condition, int site) throws InterruptedException {
        waits(condition, site);
        try {
            condition.await();
        } finally {
            waits(condition, site + 1);
        }
    }

    @Hidden
    public static void awaitUninterruptibly(Condition condition, int site) {
        waits(condition, site);
        try {
            condition.awaitUninterruptibly();
        } finally {
            waits(condition, site + 1);
        }
    }

    @Hidden
    public static long awaitNanos(Condition condition, long nanos, int site) throws InterruptedException {
        waits(condition, site);
        try {
            return condition.awaitNanos(nanos);
        } finally {
            waits(condition, site + 1);
        }
    }

    @Hidden
    public static boolean await(Condition condition, long time, TimeUnit unit, int site) throws InterruptedException {
        waits(condition, site);
        try {
            return condition.await(time, unit);
        } finally {
            waits(condition, site + 1);
        }
    }

    @Hidden
    public static boolean awaitUntil(Condition condition, Date moment, int site) throws InterruptedException {
        waits(condition, site);
        try {
            return condition.awaitUntil(moment);
        } finally {
            waits(condition, site + 1);
        }
    }

    private static void waits(Condition condition, int site) {
        if (condition == null || !UntornProbe.here()) return;
        String name = condition.getClass().getName();
        if (!name.equals("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject")) return;
        if (inCondition == 0) inCondition = UntornValues.offset(condition.getClass(), "this$0");
        UntornProbe.put(site, UntornValues.id(UntornValues.part(condition, inCondition)), 0, 0);
    }
}
