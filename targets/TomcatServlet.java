// Tomcat 9.0.85, embedded: four threads send requests through the whole container to one servlet, without a network.
//
// A request enters where the connector would hand it over, goes through engine, host, context, sessions and filters, and
// reaches a servlet that counts in the session and in the context. Each client has a session of its own, so its last count
// is that of its requests.
//
// maven: org.apache.tomcat.embed:tomcat-embed-core:9.0.85
// expect: output
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.catalina.SessionIdGenerator;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.connector.CoyoteAdapter;
import org.apache.catalina.session.StandardManager;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.InputBuffer;
import org.apache.coyote.OutputBuffer;
import org.apache.coyote.Request;
import org.apache.coyote.Response;
import org.apache.tomcat.util.net.ApplicationBufferHandler;

public class TomcatServlet {
    static final int CLIENTS = 4;
    static final int REQUESTS = 50;
    static final Logger LOG = Logger.getLogger("org.apache");

    public static void main(String[] args) throws Exception {
        LOG.setLevel(Level.OFF);
        var tomcat = new Tomcat();
        tomcat.setBaseDir(System.getProperty("java.io.tmpdir"));
        var context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "counter", new Counter());
        context.addServletMappingDecoded("/count", "counter");
        var manager = new StandardManager();
        // Sessions are neither kept in a file nor named by random numbers of the operating system.
        manager.setPathname(null);
        manager.setSessionIdGenerator(new Numbers());
        context.setManager(manager);
        var connector = new Connector();
        connector.setService(tomcat.getService());
        tomcat.start();

        var adapter = new CoyoteAdapter(connector);
        var last = new String[CLIENTS];
        var threads = new Thread[CLIENTS];
        for (int number = 0; number < CLIENTS; number++) {
            int own = number;
            threads[number] = new Thread(() -> last[own] = requests(adapter), "client " + number);
            threads[number].start();
        }
        for (int number = 0; number < CLIENTS; number++) {
            threads[number].join();
            System.out.println("client " + number + ": " + last[number]);
        }
        System.out.println("all: " + ((AtomicInteger) context.getServletContext().getAttribute("all")).get());
        tomcat.stop();
        tomcat.destroy();
    }

    static String requests(CoyoteAdapter adapter) {
        String session = null;
        String body = null;
        for (int turn = 0; turn < REQUESTS; turn++) {
            var request = new Request();
            var output = new Output();
            var response = new Response();
            request.setResponse(response);
            request.setInputBuffer(new NoInput());
            response.setOutputBuffer(output);
            request.scheme().setString("http");
            request.method().setString("GET");
            request.protocol().setString("HTTP/1.1");
            request.serverName().setString("localhost");
            request.requestURI().setString("/count");
            request.decodedURI().setString("/count");
            if (session != null) {
                request.getMimeHeaders().addValue("Cookie").setString(session);
            }
            try {
                adapter.service(request, response);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
            var cookie = response.getMimeHeaders().getHeader("Set-Cookie");
            if (cookie != null) {
                session = cookie.substring(0, cookie.indexOf(';'));
            }
            body = response.getStatus() + " " + output.text;
        }
        return body;
    }

    static class Counter extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            var session = request.getSession();
            var own = (Integer) session.getAttribute("count");
            session.setAttribute("count", own == null ? 1 : own + 1);
            all().incrementAndGet();
            response.setContentType("text/plain");
            response.getWriter().print("count " + session.getAttribute("count"));
        }

        synchronized AtomicInteger all() {
            var all = (AtomicInteger) getServletContext().getAttribute("all");
            if (all == null) {
                all = new AtomicInteger();
                getServletContext().setAttribute("all", all);
            }
            return all;
        }
    }

    static class Numbers implements SessionIdGenerator {
        private final AtomicInteger last = new AtomicInteger();

        @Override
        public String getJvmRoute() {
            return null;
        }

        @Override
        public void setJvmRoute(String route) {}

        @Override
        public int getSessionIdLength() {
            return 16;
        }

        @Override
        public void setSessionIdLength(int length) {}

        @Override
        public String generateSessionId() {
            return "session" + last.incrementAndGet();
        }

        @Override
        public String generateSessionId(String route) {
            return generateSessionId();
        }
    }

    static class NoInput implements InputBuffer {
        @Override
        public int doRead(ApplicationBufferHandler handler) {
            return -1;
        }

        @Override
        public int available() {
            return 0;
        }
    }

    static class Output implements OutputBuffer {
        private final StringBuilder text = new StringBuilder();

        @Override
        public int doWrite(ByteBuffer chunk) {
            int length = chunk.remaining();
            while (chunk.hasRemaining()) {
                text.append((char) chunk.get());
            }
            return length;
        }

        @Override
        public long getBytesWritten() {
            return text.length();
        }
    }
}
