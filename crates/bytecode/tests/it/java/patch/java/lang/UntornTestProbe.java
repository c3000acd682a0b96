package java.lang;

/** What code inserted into the JDK itself calls. It has no initialiser: it runs before all else. */
public class UntornTestProbe {
    static int depth;

    public static void hit(int site) {
        if (site < 0) throw new AssertionError(site);
    }

    public static void enter() { depth++; }

    public static void leave() { depth--; }
}
