/** What inserted code calls. It is not rewritten itself. */
public class Probe {
    private static int depth;

    /** Does nothing that could be seen. */
    public static void hit(int site) {
        if (site < 0) throw new AssertionError(site);
    }

    public static void enter() { depth++; }

    public static void leave() { depth--; }

    /** How many wraps were entered and not left. */
    public static int balance() { return depth; }
}
