// HSQLDB 2.7.2: four threads move money between the accounts of a database in memory, each over a connection of its own.
//
// Every transfer is one transaction and touches the two accounts in the order of their numbers, so nobody waits in a
// circle. The sum of all accounts and the number of the entries in the journal are the same for every schedule.
//
// Argument: how many times as many transfers; 100 make a run of some hundred million events.
//
// maven: org.hsqldb:hsqldb:2.7.2
// expect: output
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;

public class HsqldbAccounts {
    static final String URL = "jdbc:hsqldb:mem:bank";
    static final int THREADS = 4;
    static final int TRANSFERS = 40;
    static final int ACCOUNTS = 10;

    public static void main(String[] args) throws Exception {
        int times = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        try (var connection = DriverManager.getConnection(URL)) {
            fill(connection);
            var threads = new ArrayList<Thread>();
            for (int number = 0; number < THREADS; number++) {
                int seed = number;
                var thread = new Thread(() -> transfers(seed, TRANSFERS * times), "client " + number);
                thread.start();
                threads.add(thread);
            }
            for (var thread : threads) {
                thread.join();
            }
            System.out.println("sum " + one(connection, "SELECT SUM(balance) FROM account"));
            System.out.println("journal " + one(connection, "SELECT COUNT(*) FROM journal"));
            System.out.println("moved " + one(connection, "SELECT SUM(amount) FROM journal"));
            connection.createStatement().execute("SHUTDOWN");
        }
    }

    static void fill(Connection connection) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.execute("CREATE TABLE account (id INT PRIMARY KEY, balance INT)");
            statement.execute("CREATE TABLE journal (id INT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, source INT, amount INT)");
            for (int id = 0; id < ACCOUNTS; id++) {
                statement.execute("INSERT INTO account VALUES (" + id + ", 1000)");
            }
        }
    }

    static void transfers(int seed, int count) {
        try (var connection = DriverManager.getConnection(URL)) {
            connection.setAutoCommit(false);
            for (int turn = 0; turn < count; turn++) {
                int low = (seed + turn) % (ACCOUNTS - 1);
                int high = low + 1 + (seed * turn) % (ACCOUNTS - 1 - low);
                transfer(connection, low, high, turn % 7);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    static void transfer(Connection connection, int low, int high, int amount) throws SQLException {
        try (var update = connection.prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?");
                var insert = connection.prepareStatement("INSERT INTO journal (source, amount) VALUES (?, ?)")) {
            update.setInt(1, -amount);
            update.setInt(2, low);
            update.executeUpdate();
            update.setInt(1, amount);
            update.setInt(2, high);
            update.executeUpdate();
            insert.setInt(1, low);
            insert.setInt(2, amount);
            insert.executeUpdate();
        }
        connection.commit();
    }

    static long one(Connection connection, String query) throws SQLException {
        try (var statement = connection.createStatement(); var rows = statement.executeQuery(query)) {
            rows.next();
            return rows.getLong(1);
        }
    }
}
