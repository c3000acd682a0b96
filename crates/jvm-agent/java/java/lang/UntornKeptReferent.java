package java.lang;

import java.lang.ref.SoftReference;

/** Keeps the referent of a weak reference alive until memory runs out, or until the agent releases it. */
public final class UntornKeptReferent extends SoftReference<Object> {
    UntornKeptReferent(Object referent) {
        super(referent);
    }

    /** The value of the field that is added to every weak reference. */
    public static Object of(Object referent) {
        return referent == null ? null : new UntornKeptReferent(referent);
    }
}
