// The transfer of Transfer, with both locks held, always in the same order.
//
// Meant to be atomic: TransferFixed.transfer and TransferFixed.audit, and they are.
//
// expect: serializable
public class TransferFixed {
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
        synchronized (from) {
            synchronized (to) {
                from.add(-amount);
                to.add(amount);
            }
        }
    }

    private static int audit(Purse one, Purse other) {
        synchronized (one) {
            synchronized (other) {
                return one.balance() + other.balance();
            }
        }
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
