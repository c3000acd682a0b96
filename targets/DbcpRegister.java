// commons-dbcp 1.4: a data source is opened while another one is closed (DBCP-369).
//
// Meant to be atomic: InstanceKeyObjectFactory.registerNewInstance, a synchronized method that walks
// through a static HashMap of all data sources to find a free number. But removeInstance, which close
// calls, changes the same map without the lock:
//
//   opener  is in the middle of the walk
//   closer  removes its data source from the map
//   opener  goes on and throws a ConcurrentModificationException
//
// maven: commons-dbcp:commons-dbcp:1.4
// expect: violation InstanceKeyObjectFactory.registerNewInstance
// whole:  opened
// torn:   could not open: ConcurrentModificationException
import java.util.ConcurrentModificationException;
import org.apache.commons.dbcp.datasources.SharedPoolDataSource;

public class DbcpRegister {
    public static void main(String[] args) throws Exception {
        var first = opened("first");
        var second = opened("second");
        var third = opened("third");
        var opener = new Thread(() -> open("fourth"), "opener");
        var closer = new Thread(() -> close(second), "closer");
        opener.start();
        closer.start();
        opener.join();
        closer.join();
        first.close();
        third.close();
    }

    static SharedPoolDataSource opened(String name) {
        var source = new SharedPoolDataSource();
        source.setDataSourceName(name);
        return source;
    }

    static void open(String name) {
        try {
            opened(name);
            System.out.println("opened");
        } catch (ConcurrentModificationException e) {
            System.out.println("could not open: ConcurrentModificationException");
        }
    }

    static void close(SharedPoolDataSource source) {
        try {
            source.close();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
