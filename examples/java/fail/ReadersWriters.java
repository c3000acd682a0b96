// A hand-made lock for many readers or one writer, with a gap in it.
//
// Meant to be atomic: Ledger.transfer, between beginWrite and endWrite. But beginWrite looks for
// readers in one critical section and announces the writer in another. A reader that begins in the
// gap reads while the writer writes:
//
//   clerk    ReadersWriters.java:75  no reader there
//   auditor  ReadersWriters.java:50  becomes a reader: no writer there
//   clerk    ReadersWriters.java:76  becomes the writer, too late
//   clerk    ReadersWriters.java:44  writes savings 60
//   auditor  ReadersWriters.java:51  reads savings 60
//   auditor  ReadersWriters.java:52  reads current 0: 40 are missing
//   clerk    ReadersWriters.java:45  writes current 40
//
// ReadersWritersFixed closes the gap.
// expect: violation Ledger.transfer
// also:   violation Ledger.total
// also:   violation ReadWriteGate.beginWrite
// whole:  total 100
// torn:   total 60, expected 100
// or:     total 140, expected 100
public class ReadersWriters {
    public static void main(String[] args) throws InterruptedException {
        var ledger = new Ledger();
        var clerk = new Thread(() -> ledger.transfer(40), "clerk");
        var auditor = new Thread(() -> {
            int total = ledger.total();
            System.out.println("total " + total + (total == 100 ? "" : ", expected 100"));
        }, "auditor");
        clerk.start();
        auditor.start();
        clerk.join();
        auditor.join();
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

    void beginWrite() {
        awaitSilence();
        announce();
    }

    synchronized void endWrite() {
        writing = false;
        notifyAll();
    }

    private synchronized void awaitSilence() {
        while (writing || readers > 0) {
            pause();
        }
    }

    private synchronized void announce() {
        writing = true;
    }

    private void pause() {
        try {
            wait();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
