// PMD 6.55.0: its own threads look at Java sources by a set of rules.
//
// The sources are in memory. Reports of the threads are put together and sorted; they are the same for every schedule.
//
// maven: net.sourceforge.pmd:pmd-java:6.55.0
// expect: output
import java.util.TreeMap;
import java.util.logging.Level;
import java.util.logging.Logger;
import net.sourceforge.pmd.PMDConfiguration;
import net.sourceforge.pmd.PmdAnalysis;

public class PmdRules {
    static final int THREADS = 3;
    static final int SOURCES = 8;
    static final Logger LOG = Logger.getLogger("net.sourceforge.pmd");

    public static void main(String[] args) {
        LOG.setLevel(Level.OFF);
        var configuration = new PMDConfiguration();
        configuration.setThreads(THREADS);
        configuration.setIgnoreIncrementalAnalysis(true);
        configuration.addRuleSet("category/java/errorprone.xml/EmptyCatchBlock");
        configuration.addRuleSet("category/java/bestpractices.xml/UnusedLocalVariable");
        configuration.addRuleSet("category/java/design.xml/CyclomaticComplexity");
        configuration.addRuleSet("category/java/codestyle.xml/UnnecessaryReturn");
        try (var analysis = PmdAnalysis.create(configuration)) {
            for (int number = 0; number < SOURCES; number++) {
                analysis.files().addSourceFile(source(number), "Source" + number + ".java");
            }
            var counts = new TreeMap<String, Integer>();
            for (var violation : analysis.performAnalysisAndCollectReport().getViolations()) {
                counts.merge(violation.getRule().getName(), 1, Integer::sum);
            }
            counts.forEach((rule, count) -> System.out.println(rule + " " + count));
        }
    }

    static String source(int number) {
        var text = new StringBuilder("public class Source" + number + " {\n");
        for (int method = 0; method < 4; method++) {
            text.append("  public void method").append(method).append("(int a) {\n    int left = ").append(method).append(";\n");
            for (int branch = 0; branch < 4 * method; branch++) {
                text.append("    if (a == ").append(branch).append(") { a++; }\n");
            }
            text.append("    try { System.out.println(a); } catch (RuntimeException e) { }\n    return;\n  }\n");
        }
        return text.append("}\n").toString();
    }
}
