// A line that is printed once in good runs, and twice in a torn one: the only thing to be seen of it.
//
// Meant to be atomic: PrintedTwice.welcome. Both threads find the guest missing, and both say welcome. That the set
// is changed twice harms nobody.
//
// expect: violation PrintedTwice.welcome
// whole:  welcome
// torn:   welcome\nwelcome
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

public class PrintedTwice {
    private final Set<String> guests = ConcurrentHashMap.newKeySet();

    private void welcome(String guest) {
        if (!guests.contains(guest)) {
            guests.add(guest);
            System.out.println("welcome");
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var party = new PrintedTwice();
        var front = new Thread(() -> party.welcome("Ada"), "front");
        var back = new Thread(() -> party.welcome("Ada"), "back");
        front.start();
        back.start();
        front.join();
        back.join();
    }
}
