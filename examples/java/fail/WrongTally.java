// Nothing is torn here: the assertion is wrong, and fails in every schedule. A checker that looks for torn blocks alone
// would call this program clean.
//
// Both clerks count one vote each, under a lock; the program insists on three.
//
// expect: failure java.lang.AssertionError
// stderr: Exception in thread "main" java.lang.AssertionError: 2 votes
// exit: 1
public class WrongTally {
    private int votes;

    private synchronized void count() {
        votes++;
    }

    private synchronized int votes() {
        return votes;
    }

    public static void main(String[] args) throws InterruptedException {
        var tally = new WrongTally();
        var alice = new Thread(tally::count, "Alice");
        var bob = new Thread(tally::count, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        if (tally.votes() != 3) {
            throw new AssertionError(tally.votes() + " votes");
        }
        System.out.println("all votes");
    }
}
