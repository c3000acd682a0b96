// commons-dbcp 2.11.0: four threads share three connections to an HSQLDB in memory, with pooled statements.
//
// Each turn borrows a connection, adds to one row and gives the connection back. The row holds the sum in the end.
//
// maven: org.apache.commons:commons-dbcp2:2.11.0
// maven: org.hsqldb:hsqldb:2.7.2
// expect: output
import java.sql.SQLException;
import org.apache.commons.dbcp2.BasicDataSource;

public class Dbcp2Connections {
    static final int THREADS = 4;
    static final int TURNS = 25;

    public static void main(String[] args) throws Exception {
        try (var source = new BasicDataSource()) {
            source.setUrl("jdbc:hsqldb:mem:sum");
            source.setMaxTotal(3);
            source.setPoolPreparedStatements(true);
            try (var connection = source.getConnection(); var statement = connection.createStatement()) {
                statement.execute("CREATE TABLE total (id INT PRIMARY KEY, amount INT)");
                statement.execute("INSERT INTO total VALUES (1, 0)");
            }
            var threads = new Thread[THREADS];
            for (int number = 0; number < THREADS; number++) {
                int own = number;
                threads[number] = new Thread(() -> add(source, own), "client " + number);
                threads[number].start();
            }
            for (var thread : threads) {
                thread.join();
            }
            try (var connection = source.getConnection();
                    var statement = connection.createStatement();
                    var rows = statement.executeQuery("SELECT amount FROM total")) {
                rows.next();
                System.out.println("sum " + rows.getInt(1) + ", in use " + source.getNumActive());
            }
        }
    }

    static void add(BasicDataSource source, int own) {
        for (int turn = 0; turn < TURNS; turn++) {
            try (var connection = source.getConnection();
                    var update = connection.prepareStatement("UPDATE total SET amount = amount + ? WHERE id = 1")) {
                update.setInt(1, own + 1);
                update.executeUpdate();
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
