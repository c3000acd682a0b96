// One case of a switch tears a sum.
//
// arguments: 0
// expect: violation ByCase.add

public final class ByCase {
    private static int sum;

    private static void add(int amount) {
        sum += amount;
    }

    private static void work(int what) {
        switch (what) {
            case 3:
            case 4:
                System.out.println("nothing to do");
                break;
            case 77:
                add(5);
                break;
            default:
                break;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Integer what = Integer.valueOf(arguments[0]);
        Thread one = new Thread(() -> work(what));
        Thread other = new Thread(() -> work(what));
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println("sum " + sum);
    }
}
