package java.lang;

import java.lang.ref.SoftReference;

/** Holds what a weak reference refers to until memory runs out, or until the agent lets it go. */
public final class UntornKeptReferent extends SoftReference<Object> {
    UntornKeptReferent(Object referent) {
        super(referent);
    }

    /** What every weak reference has in a field of its own. */
    public static Object of(Object referent) {
        return referent == null ? null : new UntornKeptReferent(referent);
    }
}
