package java.lang;

import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;
import jdk.internal.vm.annotation.Hidden;

/**
 * Probes of {@code java.util.concurrent.locks}. The locks do their work as they always did, and block through {@code
 * LockSupport.park}, which the scheduler knows; a probe records afterwards that one was acquired or released.
 *
 * <p>The value of a record says what kind of lock it is, and whether it is its shared side.
 */
public final class UntornLocks {
    private static final int SHARED = 1;
    private static final int REENTRANT = 0;
    private static final int READ_WRITE = 2;
    private static final int STAMPED = 4;

    /** Where locks and conditions keep the object that they have in common; 0 while that is not known. */
    private static long inReentrant;
    private static long inWriter;
    private static long inReader;
    private static long inCondition;

    private UntornLocks() {}

    /** After a lock was acquired or released; the site says which. */
    public static void acquiredOrReleased(Object lock, int site) {
        if (!UntornProbe.here()) return;
        int kind = kind(lock);
        if (kind >= 0) UntornProbe.put(site, UntornValues.id(key(lock, kind)), kind, 0);
    }

    /** After an attempt. A failed one has seen that the lock is held, so it gets a place in the schedule: the next site. */
    public static void tried(boolean done, Object lock, int site) {
        if (done) {
            acquiredOrReleased(lock, site);
        } else if (UntornProbe.here()) {
            UntornProbe.put(site + 1, 0, 0, 0);
        }
    }

    /** What kind of lock it is; negative if nothing is known of it. */
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

    /** After a stamp was given back. */
    public static void unstamped(Object lock, long stamp, int site) {
        if (UntornProbe.here()) put(site, lock, StampedLock.isReadLockStamp(stamp));
    }

    public static void unstampedRead(boolean done, Object lock, int site) {
        if (done && UntornProbe.here()) put(site, lock, true);
    }

    public static void unstampedWrite(boolean done, Object lock, int site) {
        if (done && UntornProbe.here()) put(site, lock, false);
    }

    /** From one way of holding it to another, in one step: the place where it is given back, then where it is taken. */
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

    // ---- conditions: called in their place; the place where the lock is given up, then where it is back ----

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
