// A check in one method and the act in the next one, called by the same caller, which is the body of the thread. What
// holds them together is the value: it is read by the one, handed on, and written by the other.
//
// Meant to be atomic: CheckThenNext.run, from the look at the account to the new balance:
//
//   Alice  reads 100
//   Bob    reads 100, writes 50
//   Alice  writes 50: one withdrawal is lost
//
// expect: violation CheckThenNext.run
// whole:  balance 0
// torn:   balance 50
public class CheckThenNext implements Runnable {
    private static int balance = 100;

    private static synchronized int balance() {
        return balance;
    }

    private static synchronized void setBalance(int value) {
        balance = value;
    }

    private static int look() {
        return balance();
    }

    private static void pay(int seen, int amount) {
        setBalance(seen - amount);
    }

    @Override
    public void run() {
        int seen = look();
        pay(seen, 50);
    }

    public static void main(String[] args) throws InterruptedException {
        var alice = new Thread(new CheckThenNext(), "Alice");
        var bob = new Thread(new CheckThenNext(), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("balance " + balance());
    }
}
