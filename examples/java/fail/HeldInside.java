// A plan that stops a thread inside of a lock which another thread of the plan needs leads nowhere: the order of the
// locks must be right.
//
// Meant to be atomic: HeldInside.withdraw, which holds the lock of its own journal all the time. Who deposits writes
// into that journal first, and changes the balance later. So the deposit must have left the journal before the
// withdrawal enters it:
//
//   Bob    notes the deposit in the journal
//   Alice  enters the journal, reads the balance
//   Bob    deposits
//   Alice  writes what is left: the deposit is lost
//
// expect: violation HeldInside.withdraw
// whole:  balance 120
// torn:   balance 70
public class HeldInside {
    private final Object journal = new Object();
    private final Object account = new Object();
    private int notes;
    private int balance = 100;

    private int balance() {
        synchronized (account) {
            return balance;
        }
    }

    private void setBalance(int value) {
        synchronized (account) {
            balance = value;
        }
    }

    private void withdraw(int amount) {
        synchronized (journal) {
            notes++;
            int seen = balance();
            setBalance(seen - amount);
        }
    }

    private void note() {
        synchronized (journal) {
            notes++;
        }
    }

    private void deposit(int amount) {
        note();
        synchronized (account) {
            balance += amount;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var bank = new HeldInside();
        var alice = new Thread(() -> bank.withdraw(30), "Alice");
        var bob = new Thread(() -> bank.deposit(50), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("balance " + bank.balance());
    }
}
