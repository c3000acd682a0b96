import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.List;

/** Links, and by that verifies, the classes named in a file; counts those that do not verify. */
public class LoadAll {
    public static void main(String[] arguments) throws Exception {
        int linked = 0;
        int failed = 0;
        List<String> names = Files.readAllLines(Paths.get(arguments[0]));
        for (String name : names) {
            try {
                // Asking for the fields links the class and does not initialise it.
                Class.forName(name, false, ClassLoader.getSystemClassLoader()).getDeclaredFields();
                linked++;
            } catch (NoClassDefFoundError | IllegalAccessError | ClassNotFoundException absent) {
                // A class may refer to one that this JDK does not have.
                System.out.println("absent " + name + ": " + absent);
            } catch (Throwable error) {
                failed++;
                System.out.println("failed " + name + ": " + error);
            }
        }
        System.out.println("linked " + linked + " failed " + failed);
    }
}
