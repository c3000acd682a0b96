// The party of PrintedTwice, which asks and adds by one call.
//
// Meant to be atomic: PrintedTwiceFixed.welcome, and what it does to the set is one step.
//
// expect: serializable
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

public class PrintedTwiceFixed {
    private final Set<String> guests = ConcurrentHashMap.newKeySet();

    private void welcome(String guest) {
        if (guests.add(guest)) {
            System.out.println("welcome");
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var party = new PrintedTwiceFixed();
        var front = new Thread(() -> party.welcome("Ada"), "front");
        var back = new Thread(() -> party.welcome("Ada"), "back");
        front.start();
        back.start();
        front.join();
        back.join();
    }
}
