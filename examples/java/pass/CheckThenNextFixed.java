// The account of CheckThenNext, locked from the look to the payment.
//
// Meant to be atomic: what CheckThenNextFixed.run does, and it is: it holds the lock of the account.
//
// expect: serializable
public class CheckThenNextFixed implements Runnable {
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
        synchronized (CheckThenNextFixed.class) {
            int seen = look();
            pay(seen, 50);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var alice = new Thread(new CheckThenNextFixed(), "Alice");
        var bob = new Thread(new CheckThenNextFixed(), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        System.out.println("balance " + balance());
    }
}
