// The account of Bank with a withdrawal that holds the lock from the read to the write.
//
// Meant to be atomic: Account.withdraw, and it is: the locks of getBalance and setBalance are taken
// again inside, and nobody else can get in between.
//
// expect: serializable
public class BankFixed {
    public static void main(String[] args) throws InterruptedException {
        var account = new Account(100);
        var alice = new Thread(() -> account.withdraw(30), "Alice");
        var bob = new Thread(() -> account.withdraw(50), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("balance " + account.getBalance());
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

    synchronized boolean withdraw(int amount) {
        int available = getBalance();
        if (available < amount) {
            return false;
        }
        setBalance(available - amount);
        return true;
    }
}
