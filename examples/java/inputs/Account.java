// The bank account of the AtomChase paper, with withdrawals as arguments. With 100 and 100 nobody can withdraw anything
// from a balance of 20, no run writes the balance, and there is nothing to tear. With 1 and 1 both threads read 20, and one
// withdrawal is lost.
//
// Meant to be atomic: `withdraw`.
//
// arguments: 100 100
// expect: violation Account.withdraw

public final class Account {
    private int balance = 20;

    synchronized int getBalance() {
        return balance;
    }

    synchronized void setBalance(int amount) {
        balance = amount;
    }

    void withdraw(int amount) {
        int available = getBalance();
        if (amount <= available) {
            setBalance(available - amount);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Account account = new Account();
        int first = Integer.parseInt(arguments[0]);
        int second = Integer.parseInt(arguments[1]);
        Thread one = new Thread(() -> account.withdraw(first));
        Thread other = new Thread(() -> account.withdraw(second));
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println("balance " + account.getBalance());
    }
}
