// Philosophers around a table, each of whom takes the left fork first.
//
// Meant to be atomic: Philosopher.eat, under two locks. It is never torn, but when everybody has
// taken the left fork nobody gets the right one:
//
//   philosopher-0  DiningPhilosophers.java:67  takes fork 0
//   philosopher-1  DiningPhilosophers.java:67  takes fork 1
//   philosopher-2  DiningPhilosophers.java:67  takes fork 2
//   philosopher-0  DiningPhilosophers.java:68  waits for fork 1
//   philosopher-1  DiningPhilosophers.java:68  waits for fork 2
//   philosopher-2  DiningPhilosophers.java:68  waits for fork 0
//
// The arguments are the number of philosophers, 3 by default, and of meals for each, 1 by default.
// DiningPhilosophersOrdered takes the lower fork first.
//
// expect: deadlock
// whole:  3 meals
public class DiningPhilosophers {
    public static void main(String[] args) throws InterruptedException {
        int seats = args.length > 0 ? Integer.parseInt(args[0]) : 3;
        int mealsEach = args.length > 1 ? Integer.parseInt(args[1]) : 1;
        var forks = new Fork[seats];
        for (int i = 0; i < seats; i++) {
            forks[i] = new Fork();
        }
        var table = new Philosopher[seats];
        for (int i = 0; i < seats; i++) {
            table[i] = new Philosopher(i, forks[i], forks[(i + 1) % seats], mealsEach);
        }
        for (var philosopher : table) {
            philosopher.start();
        }
        int meals = 0;
        for (var philosopher : table) {
            philosopher.join();
            meals += philosopher.eaten;
        }
        System.out.println(meals + " meals");
    }
}

class Fork {
    int uses;
}

class Philosopher extends Thread {
    private final Fork left;
    private final Fork right;
    private final int appetite;
    int eaten;

    Philosopher(int seat, Fork left, Fork right, int appetite) {
        super("philosopher-" + seat);
        this.left = left;
        this.right = right;
        this.appetite = appetite;
    }

    @Override
    public void run() {
        while (eaten < appetite) {
            eat();
        }
    }

    private void eat() {
        synchronized (left) {
            synchronized (right) {
                left.uses++;
                right.uses++;
                eaten++;
            }
        }
    }
}
