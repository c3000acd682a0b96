// A transfer between two accounts, each with a lock of its own: an auditor sees the money in neither.
//
// Meant to be atomic: Transfer.transfer, and Transfer.audit beside it. The two balances are of two objects:
//
//   clerk    takes 50 from the first account
//   auditor  adds up both accounts: 150
//   clerk    puts 50 into the second one
//
// expect: violation Transfer.transfer
// also:   violation Transfer.audit
// whole:  200 in all
// torn:   150 in all
// or:     250 in all
public class Transfer {
    private static final class Purse {
        private int balance = 100;

        synchronized int balance() {
            return balance;
        }

        synchronized void add(int amount) {
            balance += amount;
        }
    }

    private static void transfer(Purse from, Purse to, int amount) {
        from.add(-amount);
        to.add(amount);
    }

    private static int audit(Purse one, Purse other) {
        return one.balance() + other.balance();
    }

    public static void main(String[] args) throws InterruptedException {
        var one = new Purse();
        var other = new Purse();
        var seen = new int[1];
        var clerk = new Thread(() -> transfer(one, other, 50), "clerk");
        var auditor = new Thread(() -> seen[0] = audit(one, other), "auditor");
        clerk.start();
        auditor.start();
        clerk.join();
        auditor.join();
        System.out.println(seen[0] + " in all");
    }
}
