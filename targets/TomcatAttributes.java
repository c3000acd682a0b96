// Tomcat 6.0.35: two threads remove the same attribute of a servlet context.
//
// Meant to be atomic: ApplicationContext.removeAttribute. It asks a ConcurrentHashMap whether there is such an
// attribute, then for its value, and then removes it. Between the calls the other thread removes it, and the
// listeners are told that null was removed:
//
//   slow   has been told that the attribute is there
//   quick  removes it, and tells the listeners
//   slow   gets null for its value, removes nothing, and tells the listeners all the same
//
// maven: org.apache.tomcat:catalina:6.0.35
// maven: org.apache.tomcat:coyote:6.0.35
// expect: violation ApplicationContext.removeAttribute
// whole:  removed, as the listener was told: alice
// torn:   removed, as the listener was told: alice null
// or:     removed, as the listener was told: null alice
// or:     removed, as the listener was told: alice alice
import javax.servlet.ServletContextAttributeEvent;
import javax.servlet.ServletContextAttributeListener;
import org.apache.catalina.core.StandardContext;

public class TomcatAttributes {
    public static void main(String[] args) throws InterruptedException {
        var context = new StandardContext();
        var listener = new Listener();
        context.setApplicationEventListeners(new Object[] {listener});
        context.setDocBase(System.getProperty("java.io.tmpdir"));
        var attributes = context.getServletContext();
        attributes.setAttribute("user", "alice");
        var slow = new Thread(() -> attributes.removeAttribute("user"), "slow");
        var quick = new Thread(() -> attributes.removeAttribute("user"), "quick");
        slow.start();
        quick.start();
        slow.join();
        quick.join();
        System.out.println("removed, as the listener was told:" + listener.removed);
    }

    static class Listener implements ServletContextAttributeListener {
        private String removed = "";

        @Override
        public void attributeAdded(ServletContextAttributeEvent event) {}

        @Override
        public synchronized void attributeRemoved(ServletContextAttributeEvent event) {
            removed += " " + event.getValue();
        }

        @Override
        public void attributeReplaced(ServletContextAttributeEvent event) {}
    }
}
