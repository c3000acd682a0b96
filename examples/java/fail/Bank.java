// A bank account that locks every access to its balance, and still loses money.
//
// Meant to be atomic: Account.withdraw. It reads the balance in one critical section and writes it
// in another, so there is no data race, but a second withdrawal fits in between and is overwritten:
//
//   Alice  Bank.java:46  reads balance 100
//   Bob    Bank.java:46  reads balance 100
//   Bob    Bank.java:50  writes balance 50
//   Alice  Bank.java:50  writes balance 70: Bob's withdrawal is lost
//
// BankFixed is the same program with one word more.
// expect: violation Account.withdraw
// whole:  balance 20
// torn:   balance 70, expected 20
// or:     balance 50, expected 20
public class Bank {
    public static void main(String[] args) throws InterruptedException {
        var account = new Account(100);
        var alice = new Thread(() -> account.withdraw(30), "Alice");
        var bob = new Thread(() -> account.withdraw(50), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        int balance = account.getBalance();
        System.out.println("balance " + balance + (balance == 20 ? "" : ", expected 20"));
    }
}

class Account {
    private int balance;

    Account(int balance) {
        this.balance = balance;
    }

    synchronized int getBalance() {
        return balance;
    }

    synchronized void setBalance(int balance) {
        this.balance = balance;
    }

    boolean withdraw(int amount) {
        int available = getBalance();
        if (available < amount) {
            return false;
        }
        setBalance(available - amount);
        return true;
    }
}
