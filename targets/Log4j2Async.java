// log4j 2.22.1: four threads log through an asynchronous appender while one of them changes levels.
//
// maven: org.apache.logging.log4j:log4j-core:2.22.1
// expect: output
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.ThreadContext;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.appender.AsyncAppender;
import org.apache.logging.log4j.core.config.AppenderRef;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory;
import org.apache.logging.log4j.core.layout.PatternLayout;

public class Log4j2Async {
    static final int THREADS = 4;
    static final int LINES = 100;

    public static void main(String[] args) throws Exception {
        System.setProperty("log4j2.disable.jmx", "true");
        System.setProperty("log4j.shutdownHookEnabled", "false");
        var builder = ConfigurationBuilderFactory.newConfigurationBuilder();
        builder.setStatusLevel(Level.OFF).add(builder.newRootLogger(Level.INFO));
        LoggerContext context = Configurator.initialize(builder.build());
        var counter = new Counter();
        counter.start();
        var configuration = context.getConfiguration();
        configuration.addAppender(counter);
        var reference = AppenderRef.createAppenderRef("counter", null, null);
        var async = AsyncAppender.newBuilder().setName("async").setBufferSize(128).setConfiguration(configuration)
                .setAppenderRefs(new AppenderRef[] {reference}).build();
        async.start();
        configuration.getRootLogger().addAppender(async, null, null);
        context.updateLoggers();
        var threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> log(own), "logger " + number);
            threads[number].start();
        }
        for (var thread : threads) {
            thread.join();
        }
        async.stop();
        System.out.println("lines " + counter.lines + ", characters " + counter.characters);
        LogManager.shutdown(context);
    }

    static void log(int own) {
        ThreadContext.put("own", "number " + own);
        for (int line = 0; line < LINES; line++) {
            var logger = LogManager.getLogger("app.part" + line % 5 + ".of" + own);
            logger.info("line {} of {}", line, own);
            logger.debug("nobody sees {}", line);
            if (own == 0 && line % 25 == 0) {
                Configurator.setLevel("other.part" + line, Level.ERROR);
            }
        }
    }

    static class Counter extends AbstractAppender {
        private final AtomicInteger lines = new AtomicInteger();
        private final AtomicInteger characters = new AtomicInteger();

        Counter() {
            super("counter", null, PatternLayout.newBuilder().withPattern("%p [%t] %c %X{own} %m%n").build(), false, Property.EMPTY_ARRAY);
        }

        @Override
        public void append(LogEvent event) {
            lines.incrementAndGet();
            characters.addAndGet(getLayout().toByteArray(event).length);
        }
    }
}
