// The account of HeldInside, locked from the look to the new balance.
//
// Meant to be atomic: HeldInsideFixed.withdraw, and it is: it holds the lock of the account inside of the journal.
//
// expect: serializable
public class HeldInsideFixed {
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
            synchronized (account) {
                int seen = balance();
                setBalance(seen - amount);
            }
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
        var bank = new HeldInsideFixed();
        var alice = new Thread(() -> bank.withdraw(30), "Alice");
        var bob = new Thread(() -> bank.deposit(50), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("balance " + bank.balance());
    }
}
