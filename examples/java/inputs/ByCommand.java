// A command interpreter: only `deposit` changes the balance, and only if an amount follows.
//
// arguments: show 0
// expect: violation ByCommand.deposit

public final class ByCommand {
    private static int balance;

    private static void deposit(int amount) {
        balance += amount;
    }

    private static void execute(String command, String amount) {
        switch (command) {
            case "show":
                break;
            case "deposit":
                if (amount.length() == 2 && amount.charAt(0) == 'x') {
                    deposit(amount.charAt(1));
                }
                break;
            default:
                System.out.println("unknown command");
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread one = new Thread(() -> execute(arguments[0], arguments[1]));
        Thread other = new Thread(() -> execute(arguments[0], arguments[1]));
        one.start();
        other.start();
        one.join();
        other.join();
        System.out.println("balance " + balance);
    }
}
