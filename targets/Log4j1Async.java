// log4j 1.2.17: four threads log through an asynchronous appender with a small buffer while loggers are made.
//
// maven: log4j:log4j:1.2.17
// expect: output
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.AsyncAppender;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.MDC;
import org.apache.log4j.PatternLayout;
import org.apache.log4j.spi.LoggingEvent;

public class Log4j1Async {
    static final int THREADS = 4;
    static final int LINES = 150;

    public static void main(String[] args) throws Exception {
        var counter = new Counter();
        var async = new AsyncAppender();
        async.setBufferSize(16);
        async.setBlocking(true);
        async.addAppender(counter);
        Logger.getRootLogger().addAppender(async);
        Logger.getRootLogger().setLevel(Level.INFO);
        var threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> log(own), "logger " + number);
            threads[number].start();
        }
        for (var thread : threads) {
            thread.join();
        }
        async.close();
        System.out.println("lines " + counter.lines + ", characters " + counter.characters);
    }

    static void log(int own) {
        MDC.put("own", own);
        for (int line = 0; line < LINES; line++) {
            var logger = Logger.getLogger("app.part" + line % 5 + ".of" + own);
            logger.info("line " + line);
            logger.debug("nobody sees this");
        }
    }

    static class Counter extends AppenderSkeleton {
        private int lines;
        private int characters;

        Counter() {
            setLayout(new PatternLayout("%p [%t] %c %X{own} %m%n"));
        }

        @Override
        protected void append(LoggingEvent event) {
            lines++;
            characters += layout.format(event).length();
        }

        @Override
        public void close() {}

        @Override
        public boolean requiresLayout() {
            return true;
        }
    }
}
