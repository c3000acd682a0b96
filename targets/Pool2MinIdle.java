// commons-pool 2.12.0: two threads prepare the same key of a pool that shall have one idle object for each.
//
// Meant to be atomic: GenericKeyedObjectPool.ensureMinIdle. It asks how many objects are missing (calculateDeficit) and then adds
// them (addObject). If both ask before one of them adds, there are two.
//
// maven: org.apache.commons:commons-pool2:2.12.0
// expect: violation GenericKeyedObjectPool.ensureMinIdle
// whole:  idle 1
// torn:   idle 2
import org.apache.commons.pool2.BaseKeyedPooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericKeyedObjectPool;
import org.apache.commons.pool2.impl.GenericKeyedObjectPoolConfig;

public class Pool2MinIdle {
    public static void main(String[] args) throws InterruptedException {
        var config = new GenericKeyedObjectPoolConfig<StringBuilder>();
        config.setMinIdlePerKey(1);
        config.setJmxEnabled(false);
        var pool = new GenericKeyedObjectPool<>(new Factory(), config);
        Runnable prepare = () -> {
            try {
                pool.preparePool("key");
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        };
        var one = new Thread(prepare, "one");
        var other = new Thread(prepare, "other");
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println("idle " + pool.getNumIdle("key"));
        pool.close();
    }

    static class Factory extends BaseKeyedPooledObjectFactory<String, StringBuilder> {
        @Override
        public StringBuilder create(String key) {
            return new StringBuilder(key);
        }

        @Override
        public PooledObject<StringBuilder> wrap(StringBuilder value) {
            return new DefaultPooledObject<>(value);
        }
    }
}
