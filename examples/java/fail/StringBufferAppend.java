// StringBuffer.append(StringBuffer) of the JDK itself: synchronized, and not atomic.
//
// Meant to be atomic: StringBuffer.append, a synchronized method. It locks the target for its whole
// length, but the other buffer only while it asks for its length. In JDK 17 (line numbers of
// 17.0.15), append(AbstractStringBuilder):
//
//   line 605  asks the other buffer for its length, under its lock
//   line 606  makes room for so many characters more
//   line 610  copies as many as the other buffer has now: its count is read again, without a lock
//   line 611  adds the length of line 605 to its own count
//
// If the other buffer is emptied between 605 and 610, nothing is copied and the target still grows
// by five characters that nobody wrote: five times NUL, as the target's array is fresh.
//
//   appender   AbstractStringBuilder.java:605  reads length 5
//   truncater  StringBufferAppend.java:32      writes count 0
//   appender   AbstractStringBuilder.java:610  reads count 0, copies nothing
//   appender   AbstractStringBuilder.java:611  adds 5 to its own count
//
// (Had the other buffer grown instead, line 610 could run over the end of the target's array and
// throw. JDK 25 reads the length first and copies later as well.)
//
// expect: violation StringBuffer.append
// also:   violation AbstractStringBuilder.append
// whole:  target is whole
// torn:   target has 5 characters, 5 of them were never written
public class StringBufferAppend {
    public static void main(String[] args) throws InterruptedException {
        var source = new StringBuffer("hello");
        var target = new StringBuffer();
        var appender = new Thread(() -> target.append(source), "appender");
        var truncater = new Thread(() -> source.setLength(0), "truncater");
        appender.start();
        truncater.start();
        appender.join();
        truncater.join();
        var text = target.toString();
        if (text.isEmpty() || text.equals("hello")) {
            System.out.println("target is whole");
        } else {
            long strange = text.chars().filter(c -> c == 0).count();
            System.out.println("target has " + text.length() + " characters, "
                    + strange + " of them were never written");
        }
    }
}
