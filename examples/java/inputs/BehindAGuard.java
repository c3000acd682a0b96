// A counter is torn only if the argument solves an equation.
//
// arguments: 7
// expect: violation BehindAGuard.count

public final class BehindAGuard {
    private static int hits;

    private static void count() {
        hits++;
    }

    public static void main(String[] arguments) throws InterruptedException {
        int key = Integer.parseInt(arguments[0]);
        Runnable work = () -> {
            if (key * 3 + 11 == 1238) {
                count();
            }
        };
        Thread one = new Thread(work);
        Thread other = new Thread(work);
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println("hits " + hits);
    }
}
