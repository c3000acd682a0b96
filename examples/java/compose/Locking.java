// What locks do to compositions: wrappers around a lock, callers that all hold one, a lock that not
// everybody takes, and a check that is made again under a lock.
//
// expect: none Wrapped.claim Map.containsKey Map.put
// expect: none Caller.claimLocked Map.containsKey Map.put
// expect: weak Partial.claim Map.containsKey Map.put
// expect: weak Twice.claim Map.get Map.put
// A field of an interface's type, filled by a wrapper of java.util.Collections:
// expect: use Free.claim Map.containsKey Map.put
// Through a getter:
// expect: use Got.claim Map.containsKey Map.put
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

class Wrapped {
    private final Map<String, String> owners = new ConcurrentHashMap<>();
    private final ReentrantLock lock = new ReentrantLock();

    private void lockInternal() {
        lock.lock();
    }

    private void unlockInternal() {
        lock.unlock();
    }

    void claim(String name) {
        lockInternal();
        try {
            if (!owners.containsKey(name)) {
                owners.put(name, name);
            }
        } finally {
            unlockInternal();
        }
    }
}

class Caller {
    private final Map<String, String> owners = new ConcurrentHashMap<>();

    synchronized void claim(String name) {
        claimLocked(name);
    }

    private void claimLocked(String name) {
        if (!owners.containsKey(name)) {
            owners.put(name, name);
        }
    }
}

class Partial {
    private final Map<String, String> owners = new ConcurrentHashMap<>();

    synchronized void claim(String name) {
        if (!owners.containsKey(name)) {
            owners.put(name, name);
        }
    }

    void clear() {
        owners.clear();
    }
}

class Twice {
    private final Map<String, String> owners = new ConcurrentHashMap<>();

    String claim(String name) {
        String owner = owners.get(name);
        if (owner == null) {
            synchronized (this) {
                owner = owners.get(name);
                if (owner == null) {
                    owner = name;
                    owners.put(name, owner);
                }
            }
        }
        return owner;
    }
}

class Free {
    private final Map<String, String> owners = Collections.synchronizedMap(new HashMap<>());

    void claim(String name) {
        if (!owners.containsKey(name)) {
            owners.put(name, name);
        }
    }
}

class Got {
    private final Map<String, String> owners = new ConcurrentHashMap<>();

    Map<String, String> owners() {
        return owners;
    }

    void claim(String name) {
        if (!owners().containsKey(name)) {
            owners().put(name, name);
        }
    }
}

public class Locking {
    public static void main(String[] args) {
        new Wrapped().claim("a");
        new Caller().claim("a");
        Partial partial = new Partial();
        partial.claim("a");
        partial.clear();
        System.out.println(new Twice().claim("a"));
        new Free().claim("a");
        new Got().claim("a");
    }
}
