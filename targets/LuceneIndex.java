// Lucene 9.9.2: three threads add documents to one index in memory while a fourth one searches what is there so far.
//
// The index has two segments' worth of memory at most, so that it flushes and merges while documents come in. What the
// searcher sees meanwhile depends on the schedule and is not printed; what is there at the end does not.
//
// Argument: how many times as many documents.
//
// maven: org.apache.lucene:lucene-core:9.9.2
// expect: output
import java.io.IOException;
import java.util.ArrayList;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

public class LuceneIndex {
    static final int WRITERS = 3;
    static final int DOCUMENTS = 60;
    static final String[] WORDS = {"thread", "lock", "block", "order", "torn", "value", "trace", "event"};

    public static void main(String[] args) throws Exception {
        int documents = DOCUMENTS * (args.length > 0 ? Integer.parseInt(args[0]) : 1);
        // Otherwise segments are named by random numbers of the operating system.
        System.setProperty("tests.seed", "1");
        var config = new IndexWriterConfig(new StandardAnalyzer()).setMaxBufferedDocs(20);
        try (var directory = new ByteBuffersDirectory()) {
            try (var writer = new IndexWriter(directory, config)) {
                var threads = new ArrayList<Thread>();
                for (int number = 0; number < WRITERS; number++) {
                    int own = number;
                    threads.add(new Thread(() -> add(writer, own, documents), "writer " + number));
                }
                threads.add(new Thread(() -> search(writer, WRITERS * documents), "searcher"));
                for (var thread : threads) {
                    thread.start();
                }
                for (var thread : threads) {
                    thread.join();
                }
                writer.commit();
            }
            try (var reader = DirectoryReader.open(directory)) {
                var searcher = new IndexSearcher(reader);
                System.out.println("documents " + reader.numDocs());
                for (var word : WORDS) {
                    System.out.println(word + " " + searcher.count(new TermQuery(new Term("text", word))));
                }
            }
        }
    }

    static void add(IndexWriter writer, int own, int documents) {
        try {
            for (int number = 0; number < documents; number++) {
                var text = new StringBuilder();
                for (int word = 0; word < 30; word++) {
                    text.append(WORDS[(number * 31 + word * (own + 3)) % WORDS.length]).append(number % 5).append(' ');
                }
                text.append(WORDS[(number + own) % WORDS.length]);
                var document = new Document();
                document.add(new StringField("id", own + "/" + number, Field.Store.YES));
                document.add(new TextField("text", text.toString(), Field.Store.NO));
                writer.updateDocument(new Term("id", own + "/" + number % 50), document);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    static void search(IndexWriter writer, int most) {
        try (var manager = new SearcherManager(writer, null)) {
            for (int turn = 0; turn < 20; turn++) {
                manager.maybeRefreshBlocking();
                var searcher = manager.acquire();
                try {
                    if (searcher.count(new TermQuery(new Term("text", "torn"))) > most) {
                        System.out.println("too many");
                    }
                } finally {
                    manager.release(searcher);
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
