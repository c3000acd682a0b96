/** Copies of arrays and objects by {@code clone}. */
class Clones implements Cloneable {
    static int[] numbers = {4, 5};
    int left = 1;
    long right = 2;
    final int fixed = 3;

    static int[] copy() {
        return numbers.clone();
    }

    Clones twin() {
        try {
            return (Clones) super.clone();
        } catch (CloneNotSupportedException never) {
            throw new AssertionError(never);
        }
    }

    public static void main(String[] args) {
        System.out.println(copy()[1]);
        System.out.println(new Clones().twin().right);
    }
}
