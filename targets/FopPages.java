// FOP 2.9: three threads lay out documents of their own with one factory, as a server that prints bills does.
//
// The factory, its font cache and its properties are shared. Each thread prints how many pages it made and a checksum of
// the areas on them.
//
// maven: org.apache.xmlgraphics:fop:2.9
// expect: output
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.StringReader;
import java.util.Arrays;
import java.util.logging.Level;
import java.util.logging.Logger;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.sax.SAXResult;
import javax.xml.transform.stream.StreamSource;
import org.apache.fop.apps.FopFactory;
import org.apache.fop.apps.MimeConstants;

public class FopPages {
    static final int THREADS = 3;
    static final int DOCUMENTS = 2;
    static final Logger LOG = Logger.getLogger("org.apache");

    public static void main(String[] args) throws Exception {
        System.setProperty("java.awt.headless", "true");
        LOG.setLevel(Level.OFF);
        var factory = FopFactory.newInstance(new File(".").toURI());
        var results = new String[THREADS];
        var threads = new Thread[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> results[own] = print(factory, own), "printer " + number);
            threads[number].start();
        }
        for (int number = 0; number < THREADS; number++) {
            threads[number].join();
            System.out.println("printer " + number + ": " + results[number]);
        }
    }

    static String print(FopFactory factory, int own) {
        int pages = 0;
        int sum = 0;
        for (int document = 0; document < DOCUMENTS; document++) {
            try {
                var out = new ByteArrayOutputStream();
                var fop = factory.newFop(MimeConstants.MIME_FOP_AREA_TREE, out);
                var source = new StreamSource(new StringReader(text(own, document)));
                TransformerFactory.newDefaultInstance().newTransformer().transform(source, new SAXResult(fop.getDefaultHandler()));
                pages += fop.getResults().getPageCount();
                sum = sum * 31 + Arrays.hashCode(out.toByteArray());
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
        return pages + " pages, " + sum;
    }

    static String text(int own, int document) {
        var text = new StringBuilder("<fo:root xmlns:fo='http://www.w3.org/1999/XSL/Format'><fo:layout-master-set>");
        text.append("<fo:simple-page-master master-name='a' page-height='10cm' page-width='10cm' margin='1cm'>");
        text.append("<fo:region-body/></fo:simple-page-master></fo:layout-master-set>");
        text.append("<fo:page-sequence master-reference='a'><fo:flow flow-name='xsl-region-body' font-family='Helvetica'>");
        for (int paragraph = 0; paragraph < 8; paragraph++) {
            text.append("<fo:block space-after='3mm' font-size='").append(8 + (own + paragraph) % 4).append("pt'>");
            for (int word = 0; word < 25; word++) {
                text.append("word").append(word * document).append(' ');
            }
            text.append("</fo:block>");
        }
        return text.append("</fo:flow></fo:page-sequence></fo:root>").toString();
    }
}
