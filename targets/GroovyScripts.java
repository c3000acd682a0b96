// Groovy 4.0.18: three threads compile scripts by one class loader and run them, with meta classes shared by all.
//
// maven: org.apache.groovy:groovy:4.0.18
// expect: output
import groovy.lang.Binding;
import groovy.lang.GroovyClassLoader;
import groovy.lang.Script;
import org.codehaus.groovy.runtime.InvokerHelper;

public class GroovyScripts {
    static final int THREADS = 3;
    static final int SCRIPTS = 2;
    static final String SCRIPT =
            """
            class Shape { int width; int height; def area() { width * height } }
            def shapes = (1..n).collect { new Shape(width: it, height: it + %d) }
            def even = shapes.findAll { it.area() %% 2 == 0 }
            "${shapes.size()} shapes, ${even.size()} even, ${shapes*.area().sum()}"
            """;

    public static void main(String[] args) throws Exception {
        try (var loader = new GroovyClassLoader()) {
            var results = new String[THREADS];
            var threads = new Thread[THREADS];
            for (int number = 0; number < THREADS; number++) {
                int own = number;
                threads[number] = new Thread(() -> results[own] = run(loader, own), "scripter " + number);
                threads[number].start();
            }
            for (int number = 0; number < THREADS; number++) {
                threads[number].join();
                System.out.println("scripter " + number + ": " + results[number]);
            }
        }
    }

    static String run(GroovyClassLoader loader, int own) {
        var all = new StringBuilder();
        for (int script = 0; script < SCRIPTS; script++) {
            var name = "Script" + own + "_" + script;
            var type = loader.parseClass(String.format(SCRIPT, script), name + ".groovy");
            var binding = new Binding();
            binding.setVariable("n", 10 + own);
            Script made = InvokerHelper.createScript(type, binding);
            all.append(made.run()).append("; ");
        }
        return all.toString();
    }
}
