// log4j 1.2.17: two threads register the same listener. It shall be registered once.
//
// Meant to be atomic: Hierarchy.addHierarchyEventListener. It asks a Vector whether it has the listener and then adds it.
// If both ask before one of them adds, the listener is told everything twice.
//
// maven: log4j:log4j:1.2.17
// expect: violation Hierarchy.addHierarchyEventListener
// whole:  told 1
// torn:   told 2
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.log4j.Appender;
import org.apache.log4j.Category;
import org.apache.log4j.Hierarchy;
import org.apache.log4j.Level;
import org.apache.log4j.spi.HierarchyEventListener;
import org.apache.log4j.spi.RootLogger;
import org.apache.log4j.varia.NullAppender;

public class Log4jListeners {
    public static void main(String[] args) throws InterruptedException {
        var hierarchy = new Hierarchy(new RootLogger(Level.DEBUG));
        var listener = new Counter();
        var one = new Thread(() -> hierarchy.addHierarchyEventListener(listener), "one");
        var other = new Thread(() -> hierarchy.addHierarchyEventListener(listener), "other");
        one.start();
        other.start();
        one.join();
        other.join();
        hierarchy.fireAddAppenderEvent(hierarchy.getRootLogger(), new NullAppender());
        System.out.println("told " + listener.told.get());
    }

    static class Counter implements HierarchyEventListener {
        final AtomicInteger told = new AtomicInteger();

        @Override
        public void addAppenderEvent(Category category, Appender appender) {
            told.incrementAndGet();
        }

        @Override
        public void removeAppenderEvent(Category category, Appender appender) {}
    }
}
