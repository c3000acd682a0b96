// ICFinder's Listing 5: two calls in different cases of one switch. They stand near each other and
// are often made by one method, so the baseline takes them for one step; no run makes both.
//
// expect: muvi Transactions.logState Log.logTransactionState Log.close
// expect: none Transactions.logState Log.logTransactionState Log.close
class Log {
    private int written;
    private boolean closed;

    synchronized void logTransactionState(int state) {
        if (!closed) {
            written += state;
        }
    }

    synchronized void close() {
        closed = true;
        written = 0;
    }
}

class Transactions {
    static final int OPENED = 1;
    static final int CLOSED = 2;

    private final Log log = new Log();

    void logState(int state) {
        switch (state) {
            case OPENED:
                log.logTransactionState(state);
                break;
            case CLOSED:
                log.close();
                break;
            default:
                break;
        }
    }

    void logOther(int state) {
        switch (state) {
            case OPENED:
                log.logTransactionState(-state);
                break;
            default:
                log.close();
                break;
        }
    }
}

public class SwitchCases {
    public static void main(String[] args) {
        Transactions transactions = new Transactions();
        new Thread(() -> transactions.logState(Transactions.CLOSED)).start();
        transactions.logState(Transactions.OPENED);
        transactions.logOther(Transactions.CLOSED);
    }
}
