// Nothing is torn here: a thread reads a field before another one has written it, once and too early.
//
// The reader is started before there is a text. If it runs first, it fails:
//
//   reader  EarlyReader.java:18  reads null, and throws
//   main    EarlyReader.java:25  sets the text: too late
//
// expect: failure java.lang.NullPointerException
// whole:  read 5 characters
// stderr: Exception in thread "reader" java.lang.NullPointerException
public class EarlyReader {
    private String text;
    private volatile int length = -1;

    /** Throws if there is no text yet. */
    private void read() {
        // Once, so that no pair of accesses can be torn.
        length = text.length();
    }

    public static void main(String[] args) throws InterruptedException {
        var early = new EarlyReader();
        var reader = new Thread(early::read, "reader");
        reader.start();
        early.text = "hello";
        reader.join();
        if (early.length >= 0) {
            System.out.println("read " + early.length + " characters");
        }
    }
}
