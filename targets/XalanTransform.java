// Xalan 2.7.3: four threads transform documents of their own by one compiled style sheet, as a web application does.
//
// The style sheet sorts, counts and calls itself; Templates are made to be shared. Each thread prints a checksum of what
// it got.
//
// maven: xalan:xalan:2.7.3
// maven: xalan:serializer:2.7.3
// expect: output
import java.io.StringReader;
import java.io.StringWriter;
import javax.xml.transform.Templates;
import javax.xml.transform.TransformerException;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.xalan.processor.TransformerFactoryImpl;

public class XalanTransform {
    static final int THREADS = 4;
    static final int DOCUMENTS = 6;
    static final String SHEET =
            """
            <xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
              <xsl:output method="xml" indent="yes"/>
              <xsl:key name="by-kind" match="item" use="@kind"/>
              <xsl:template match="/list">
                <table count="{count(item)}" sum="{sum(item/@price)}">
                  <xsl:apply-templates select="item"><xsl:sort select="@price" data-type="number"/></xsl:apply-templates>
                </table>
              </xsl:template>
              <xsl:template match="item">
                <row of="{count(key('by-kind', @kind))}">
                  <xsl:call-template name="stars"><xsl:with-param name="left" select="@price mod 7"/></xsl:call-template>
                  <xsl:value-of select="concat(translate(., 'abc', 'ABC'), ' ', format-number(@price, '#,##0.00'))"/>
                </row>
              </xsl:template>
              <xsl:template name="stars">
                <xsl:param name="left"/>
                <xsl:if test="$left &gt; 0">*<xsl:call-template name="stars"><xsl:with-param name="left" select="$left - 1"/></xsl:call-template></xsl:if>
              </xsl:template>
            </xsl:stylesheet>
            """;

    public static void main(String[] args) throws Exception {
        var templates = new TransformerFactoryImpl().newTemplates(new StreamSource(new StringReader(SHEET)));
        var sums = new long[THREADS];
        var threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> sums[own] = transform(templates, own), "transformer " + number);
            threads[number].start();
        }
        for (int number = 0; number < THREADS; number++) {
            threads[number].join();
            System.out.println("transformer " + number + ": " + sums[number]);
        }
    }

    static long transform(Templates templates, int own) {
        long sum = 0;
        for (int document = 0; document < DOCUMENTS; document++) {
            var text = new StringBuilder("<list>");
            for (int item = 0; item < 30; item++) {
                text.append("<item kind='").append(item % 4).append("' price='").append((item * 37 + own) % 101);
                text.append("'>abcdef ").append(document).append("</item>");
            }
            text.append("</list>");
            var result = new StringWriter();
            try {
                templates.newTransformer().transform(new StreamSource(new StringReader(text.toString())), new StreamResult(result));
            } catch (TransformerException e) {
                throw new IllegalStateException(e);
            }
            sum += result.toString().hashCode();
        }
        return sum;
    }
}
