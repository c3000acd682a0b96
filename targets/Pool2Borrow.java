// commons-pool 2.12.0: four threads borrow from a pool of two objects for each of three keys and give back.
//
// Who finds the pool empty waits in line. Each object counts how often it was used, without a lock of its own: the pool
// alone makes sure that nobody else has it.
//
// maven: org.apache.commons:commons-pool2:2.12.0
// expect: output
import org.apache.commons.pool2.BaseKeyedPooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.apache.commons.pool2.impl.GenericKeyedObjectPool;
import org.apache.commons.pool2.impl.GenericKeyedObjectPoolConfig;

public class Pool2Borrow {
    static final int THREADS = 4;
    static final int TURNS = 150;
    static final String[] KEYS = {"red", "green", "blue"};

    public static void main(String[] args) throws Exception {
        var config = new GenericKeyedObjectPoolConfig<Worker>();
        config.setMaxTotalPerKey(2);
        config.setMaxIdlePerKey(2);
        config.setTestOnReturn(true);
        config.setJmxEnabled(false);
        var pool = new GenericKeyedObjectPool<>(new Factory(), config);
        var threads = new Thread[THREADS];
        var done = new int[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> done[own] = borrow(pool, own), "borrower " + number);
            threads[number].start();
        }
        int all = 0;
        for (int number = 0; number < THREADS; number++) {
            threads[number].join();
            all += done[number];
        }
        int used = 0;
        for (var key : KEYS) {
            while (pool.getNumIdle(key) > 0) {
                used += pool.borrowObject(key).used;
            }
        }
        System.out.println("borrowed " + all + ", used " + used + ", left " + pool.getNumIdle());
        pool.close();
    }

    static int borrow(GenericKeyedObjectPool<String, Worker> pool, int own) {
        int done = 0;
        try {
            for (int turn = 0; turn < TURNS; turn++) {
                var key = KEYS[(turn + own) % KEYS.length];
                var worker = pool.borrowObject(key);
                worker.used++;
                done++;
                pool.returnObject(key, worker);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return done;
    }

    static class Worker {
        private int used;
    }

    static class Factory extends BaseKeyedPooledObjectFactory<String, Worker> {
        @Override
        public Worker create(String key) {
            return new Worker();
        }

        @Override
        public PooledObject<Worker> wrap(Worker worker) {
            return new DefaultPooledObject<>(worker);
        }
    }
}
