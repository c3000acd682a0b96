// A counter behind five guards, each of which needs the ones before.
//
// arguments: 0 0
// expect: violation NestedGuards.count

public final class NestedGuards extends Thread {
    private static int hits;
    private final int a;
    private final long b;

    private NestedGuards(int a, long b) {
        this.a = a;
        this.b = b;
    }

    private void count() {
        hits++;
    }

    @Override
    public void run() {
        if (a > 1000) {
            if (a % 7 == 3) {
                if (b - a > 5_000_000_000L) {
                    if ((b & 0xff) == 0x5a) {
                        if ((a ^ 0x55) < 1100) {
                            count();
                        }
                    }
                }
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int a = Integer.parseInt(arguments[0]);
        long b = Long.parseLong(arguments[1]);
        Thread one = new NestedGuards(a, b);
        Thread other = new NestedGuards(a, b);
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println("hits " + hits);
    }
}
