// The reader of EarlyReader, started when there is a text.
//
// Nothing is meant to be atomic: starting a thread orders what comes before it.
//
// expect: serializable
public class EarlyReaderFixed {
    private String text;
    private volatile int length = -1;

    private void read() {
        length = text.length();
    }

    public static void main(String[] args) throws InterruptedException {
        var early = new EarlyReaderFixed();
        var reader = new Thread(early::read, "reader");
        early.text = "hello";
        reader.start();
        reader.join();
        if (early.length >= 0) {
            System.out.println("read " + early.length + " characters");
        }
    }
}
