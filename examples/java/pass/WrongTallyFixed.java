// The tally of WrongTally, and the right number.
//
// Meant to be atomic: WrongTallyFixed.count, and it is: it holds its lock.
//
// expect: serializable
public class WrongTallyFixed {
    private int votes;

    private synchronized void count() {
        votes++;
    }

    private synchronized int votes() {
        return votes;
    }

    public static void main(String[] args) throws InterruptedException {
        var tally = new WrongTallyFixed();
        var alice = new Thread(tally::count, "Alice");
        var bob = new Thread(tally::count, "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        if (tally.votes() != 2) {
            throw new AssertionError(tally.votes() + " votes");
        }
        System.out.println("all votes");
    }
}
