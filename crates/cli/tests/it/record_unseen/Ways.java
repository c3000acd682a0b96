import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Date;
import java.util.EnumMap;
import java.util.EnumSet;

/** Ways of the JDK to touch what threads share, without an instruction of the program. */
class Ways {
    enum Color { RED, GREEN }

    static int[] numbers = {9, 8};
    static Object[] words = {"b", "a"};

    public static void main(String[] args) {
        Arrays.sort(numbers);
        Arrays.equals(numbers, new int[] {8, 9});
        Arrays.copyOf(words, 1);
        Arrays.copyOfRange(words, 1, 5);
        Arrays.stream(numbers).sum();
        new EnumMap<Color, String>(Color.class).put(Color.GREEN, "g");
        EnumSet.noneOf(Color.class).add(Color.GREEN);
        new Date().setTime(7);
    }
}

/** Ways that leave no event. */
class Dark {
    public static void main(String[] args) {
        ByteBuffer.allocate(4).put((byte) 1);
        new java.util.Properties().setProperty("a", "b");
        new java.util.concurrent.ConcurrentHashMap<String, String>().keySet().remove("a");
    }
}
