// commons-pool 1.6: four threads borrow from a pool of two objects and give back.
//
// Who finds the pool empty waits in line. Each object counts how often it was used, without a lock of its own: the pool
// alone makes sure that nobody else has it. An evictor looks for idle objects meanwhile.
//
// maven: commons-pool:commons-pool:1.6
// expect: output
import org.apache.commons.pool.BasePoolableObjectFactory;
import org.apache.commons.pool.impl.GenericObjectPool;

public class Pool1Borrow {
    static final int THREADS = 4;
    static final int TURNS = 300;

    public static void main(String[] args) throws Exception {
        var pool = new GenericObjectPool<Worker>(new Factory());
        pool.setMaxActive(2);
        pool.setMaxIdle(2);
        pool.setMaxWait(-1);
        pool.setTestOnReturn(true);
        pool.setTimeBetweenEvictionRunsMillis(10);
        pool.setMinEvictableIdleTimeMillis(1_000_000);
        var threads = new Thread[THREADS];
        var done = new int[THREADS];
        for (int number = 0; number < THREADS; number++) {
            int own = number;
            threads[number] = new Thread(() -> done[own] = borrow(pool), "borrower " + number);
            threads[number].start();
        }
        int all = 0;
        for (int number = 0; number < THREADS; number++) {
            threads[number].join();
            all += done[number];
        }
        int used = 0;
        while (pool.getNumIdle() > 0) {
            used += pool.borrowObject().used;
        }
        pool.close();
        System.out.println("borrowed " + all + ", used " + used + ", left " + pool.getNumIdle());
    }

    static int borrow(GenericObjectPool<Worker> pool) {
        int done = 0;
        try {
            for (int turn = 0; turn < TURNS; turn++) {
                var worker = pool.borrowObject();
                worker.used++;
                done++;
                pool.returnObject(worker);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return done;
    }

    static class Worker {
        private int used;
    }

    static class Factory extends BasePoolableObjectFactory<Worker> {
        @Override
        public Worker makeObject() {
            return new Worker();
        }
    }
}
