// The lock of ReadersWriters without its gap.
//
// Meant to be atomic: Ledger.transfer, between beginWrite and endWrite, and Ledger.total, between
// beginRead and endRead. beginWrite looks for readers and announces the writer in one critical
// section, so a reader and a writer are never inside together. The plain fields of Ledger are
// handed from one to the other by the monitor of the gate.
//
// The argument is the number of transfers of each clerk, 5 by default.
//
// expect: serializable
public class ReadersWritersFixed {
    public static void main(String[] args) throws InterruptedException {
        int times = args.length > 0 ? Integer.parseInt(args[0]) : 5;
        var ledger = new Ledger();
        var auditors = new Auditor[] {new Auditor(ledger, times), new Auditor(ledger, times)};
        var threads = new Thread[] {
            new Thread(() -> transfer(ledger, 1, times), "clerk-1"),
            new Thread(() -> transfer(ledger, 2, times), "clerk-2"),
            new Thread(auditors[0], "auditor-1"),
            new Thread(auditors[1], "auditor-2"),
        };
        for (var thread : threads) {
            thread.start();
        }
        for (var thread : threads) {
            thread.join();
        }
        System.out.println("wrong totals " + (auditors[0].wrong + auditors[1].wrong));
        System.out.println(ledger);
    }

    static void transfer(Ledger ledger, int amount, int times) {
        for (int i = 0; i < times; i++) {
            ledger.transfer(amount);
        }
    }
}

class Auditor implements Runnable {
    private final Ledger ledger;
    private final int times;
    int wrong;

    Auditor(Ledger ledger, int times) {
        this.ledger = ledger;
        this.times = times;
    }

    @Override
    public void run() {
        for (int i = 0; i < times; i++) {
            if (ledger.total() != 100) {
                wrong++;
            }
        }
    }
}

class Ledger {
    private final ReadWriteGate gate = new ReadWriteGate();
    private int savings = 100;
    private int current = 0;

    void transfer(int amount) {
        gate.beginWrite();
        savings -= amount;
        current += amount;
        gate.endWrite();
    }

    int total() {
        gate.beginRead();
        int seenSavings = savings;
        int seenCurrent = current;
        gate.endRead();
        return seenSavings + seenCurrent;
    }

    @Override
    public String toString() {
        return "savings " + savings + ", current " + current;
    }
}

class ReadWriteGate {
    private int readers;
    private boolean writing;

    synchronized void beginRead() {
        while (writing) {
            pause();
        }
        readers++;
    }

    synchronized void endRead() {
        readers--;
        notifyAll();
    }

    synchronized void beginWrite() {
        while (writing || readers > 0) {
            pause();
        }
        writing = true;
    }

    synchronized void endWrite() {
        writing = false;
        notifyAll();
    }

    private void pause() {
        try {
            wait();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
