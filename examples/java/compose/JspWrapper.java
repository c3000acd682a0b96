// ICFinder's Listing 7, a bug of Tomcat up to 7.0.10: a servlet is made under the lock, and used under
// the lock, but the lock is let go in between, and another thread may destroy the servlet.
//
// expect: use JspServletWrapper.service JspServletWrapper.getServlet Servlet.service
// output: any
class Servlet {
    private boolean destroyed;

    void service(String request) {
        if (destroyed) {
            throw new IllegalStateException(request);
        }
    }

    void destroy() {
        destroyed = true;
    }
}

class JspServletWrapper {
    private Servlet theServlet;
    private boolean reload = true;

    void service(String request) {
        synchronized (this) {
            getServlet();
        }
        synchronized (this) {
            theServlet.service(request);
        }
    }

    void getServlet() {
        synchronized (this) {
            if (reload) {
                theServlet = new Servlet();
                reload = false;
            }
        }
    }

    synchronized void destroy() {
        theServlet.destroy();
        reload = true;
    }
}

public class JspWrapper {
    public static void main(String[] args) {
        JspServletWrapper wrapper = new JspServletWrapper();
        wrapper.service("first");
        new Thread(wrapper::destroy).start();
        wrapper.service("second");
    }
}
