// log4j 1.2.17: two threads attach the same appender. It shall be attached once.
//
// Meant to be atomic: AppenderAttachableImpl.addAppender. It asks a Vector whether it has the appender and then adds it.
// If both ask before one of them adds, everything is written twice.
//
// maven: log4j:log4j:1.2.17
// expect: violation AppenderAttachableImpl.addAppender
// whole:  attached 2
// torn:   attached 3
import java.util.Collections;
import org.apache.log4j.helpers.AppenderAttachableImpl;
import org.apache.log4j.varia.NullAppender;

public class Log4jAppenders {
    public static void main(String[] args) throws InterruptedException {
        var appenders = new AppenderAttachableImpl();
        appenders.addAppender(new NullAppender());
        var appender = new NullAppender();
        var one = new Thread(() -> appenders.addAppender(appender), "one");
        var other = new Thread(() -> appenders.addAppender(appender), "other");
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println("attached " + Collections.list(appenders.getAllAppenders()).size());
    }
}
