/** Runs the samples. It is not rewritten itself. */
public class Main {
    public static void main(String[] arguments) {
        System.out.print(Samples.run());
        System.out.println("open wraps: " + Probe.balance());
    }
}
