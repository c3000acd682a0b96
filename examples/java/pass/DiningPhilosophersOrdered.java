// The table of DiningPhilosophers, where everybody takes the fork with the lower number first.
//
// Meant to be atomic: Philosopher.eat. It holds both forks throughout. A circle of waiting
// philosophers would need somebody who holds a higher fork and waits for a lower one.
//
// The arguments are the number of philosophers, 3 by default, and of meals for each, 10 by default.
//
// expect: serializable
public class DiningPhilosophersOrdered {
    public static void main(String[] args) throws InterruptedException {
        int seats = args.length > 0 ? Integer.parseInt(args[0]) : 3;
        int mealsEach = args.length > 1 ? Integer.parseInt(args[1]) : 10;
        var forks = new Fork[seats];
        for (int i = 0; i < seats; i++) {
            forks[i] = new Fork();
        }
        var table = new Philosopher[seats];
        for (int i = 0; i < seats; i++) {
            int next = (i + 1) % seats;
            var lower = forks[Math.min(i, next)];
            var higher = forks[Math.max(i, next)];
            table[i] = new Philosopher(i, lower, higher, mealsEach);
        }
        for (var philosopher : table) {
            philosopher.start();
        }
        int meals = 0;
        for (var philosopher : table) {
            philosopher.join();
            meals += philosopher.eaten;
        }
        int uses = 0;
        for (var fork : forks) {
            uses += fork.uses;
        }
        System.out.println(meals + " meals, forks used " + uses + " times");
    }
}

class Fork {
    int uses;
}

class Philosopher extends Thread {
    private final Fork lower;
    private final Fork higher;
    private final int appetite;
    int eaten;

    Philosopher(int seat, Fork lower, Fork higher, int appetite) {
        super("philosopher-" + seat);
        this.lower = lower;
        this.higher = higher;
        this.appetite = appetite;
    }

    @Override
    public void run() {
        while (eaten < appetite) {
            eat();
        }
    }

    private void eat() {
        synchronized (lower) {
            synchronized (higher) {
                lower.uses++;
                higher.uses++;
                eaten++;
            }
        }
    }
}
