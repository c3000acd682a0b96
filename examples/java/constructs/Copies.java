// Fields and elements that are reached without an instruction of their own: reflection, copies, clones.
//
// expect: output
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;

public class Copies {
    int number = 1;
    private String text = "a";
    static long global = 2;

    synchronized int next() {
        return ++number;
    }

    public static void main(String[] args) throws Exception {
        fields();
        methods();
        elements();
        copies();
        shared();
    }

    static void fields() throws Exception {
        var object = new Copies();
        Field number = Copies.class.getDeclaredField("number");
        Field text = Copies.class.getDeclaredField("text");
        Field global = Copies.class.getDeclaredField("global");
        number.setInt(object, number.getInt(object) + 40);
        text.set(object, text.get(object) + "b");
        global.setLong(null, global.getLong(null) * 3);
        System.out.println("fields " + object.number + " " + object.text + " " + Copies.global);
        try {
            number.get(null);
        } catch (NullPointerException e) {
            System.out.println("no object");
        }
        try {
            number.set(object, "text");
        } catch (IllegalArgumentException e) {
            System.out.println("another type");
        }
    }

    static void methods() throws Exception {
        var object = new Copies();
        var next = Copies.class.getDeclaredMethod("next");
        System.out.println("methods " + next.invoke(object) + " " + next.invoke(object));
        try {
            Copies.class.getDeclaredMethod("fails").invoke(null);
        } catch (InvocationTargetException e) {
            System.out.println("thrown " + e.getCause().getMessage());
        }
    }

    static void fails() {
        throw new IllegalStateException("inside");
    }

    static void elements() {
        Object array = Array.newInstance(int.class, 3);
        Array.setInt(array, 0, 7);
        Array.set(array, 1, 8);
        System.out.println("elements " + Array.get(array, 0) + " " + Array.getInt(array, 1) + " of "
                + Array.getLength(array));
        try {
            Array.get(array, 3);
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println("no element");
        }
    }

    static void copies() {
        int[] numbers = {1, 2, 3, 4, 5};
        System.arraycopy(numbers, 0, numbers, 1, 4);
        System.out.println("overlapping " + Arrays.toString(numbers));
        System.out.println("clone " + Arrays.toString(numbers.clone()));
        String[] words = {"x", "y"};
        Object[] objects = new Object[3];
        System.arraycopy(words, 0, objects, 1, 2);
        System.out.println("objects " + Arrays.toString(objects));
        long[] many = new long[5000];
        Arrays.fill(many, 3);
        long[] other = new long[5000];
        System.arraycopy(many, 0, other, 0, 5000);
        System.out.println("many " + other[4999] + " " + many.clone().length);
        var list = new ArrayList<Integer>();
        for (int i = 0; i < 20; i++) {
            list.add(0, i);
        }
        list.remove(3);
        System.out.println("list " + list);
        try {
            System.arraycopy(numbers, 3, numbers, 4, 4);
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println("too long");
        }
        try {
            System.arraycopy(objects, 0, words, 0, 3);
        } catch (IndexOutOfBoundsException | ArrayStoreException e) {
            System.out.println("does not fit");
        }
        for (Kind kind : Kind.values()) {
            System.out.println(kind);
        }
    }

    enum Kind { ONE, OTHER }

    /** Two threads shift an array under a lock. */
    static void shared() throws InterruptedException {
        int[] ring = {0, 1, 2, 3, 4, 5, 6, 7};
        Runnable shift = () -> {
            for (int round = 0; round < 8; round++) {
                synchronized (ring) {
                    int last = ring[7];
                    System.arraycopy(ring, 0, ring, 1, 7);
                    ring[0] = last;
                }
            }
        };
        var other = new Thread(shift, "other");
        other.start();
        shift.run();
        other.join();
        System.out.println("ring " + Arrays.toString(ring));
    }
}
