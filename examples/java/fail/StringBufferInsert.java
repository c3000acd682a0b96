// StringBuffer.insert(int, CharSequence) of the JDK: throws when its argument shrinks in the
// meantime.
//
// Meant to be atomic: StringBuffer.insert. In JDK 17 it is not even synchronized: it asks the
// argument for its length (AbstractStringBuilder.java:1241 in 17.0.15) and hands it to the
// four-argument insert, which asks again, finds less than promised, and throws (line 1295):
//
//   inserter   AbstractStringBuilder.java:1294  has read length 5, in line 1241
//   truncater  StringBufferInsert.java:24       writes count 0
//   inserter   AbstractStringBuilder.java:1295  reads length 0 and throws
//
// If the argument shrinks after line 1295, the copying loop throws instead, with a target that is
// half shifted.
//
// expect: violation StringBuffer.insert
// also:   violation AbstractStringBuilder.insert
// whole:  target is whole
// torn:   target is broken: IndexOutOfBoundsException
public class StringBufferInsert {
    public static void main(String[] args) throws InterruptedException {
        var source = new StringBuffer("hello");
        var target = new StringBuffer();
        var inserter = new Thread(() -> insert(target, source), "inserter");
        var truncater = new Thread(() -> source.setLength(0), "truncater");
        inserter.start();
        truncater.start();
        inserter.join();
        truncater.join();
    }

    static void insert(StringBuffer target, StringBuffer source) {
        try {
            target.insert(0, source);
            System.out.println("target is whole");
        } catch (IndexOutOfBoundsException e) {
            System.out.println("target is broken: IndexOutOfBoundsException");
        }
    }
}
