// The doctors of WriteSkew, with one lock for both.
//
// Meant to be atomic: WriteSkewFixed.leave, and it is: it holds the lock of the ward.
//
// expect: serializable
public class WriteSkewFixed {
    private static final class Doctor {
        private boolean isOnCall = true;

        synchronized boolean isOnCall() {
            return isOnCall;
        }

        synchronized void leave() {
            isOnCall = false;
        }
    }

    private final Doctor alice = new Doctor();
    private final Doctor bob = new Doctor();

    private synchronized void leave(Doctor one, Doctor other) {
        if (other.isOnCall()) {
            one.leave();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var ward = new WriteSkewFixed();
        var alice = new Thread(() -> ward.leave(ward.alice, ward.bob), "Alice");
        var bob = new Thread(() -> ward.leave(ward.bob, ward.alice), "Bob");
        alice.start();
        bob.start();
        alice.join();
        bob.join();
        var isSafe = ward.alice.isOnCall() || ward.bob.isOnCall();
        System.out.println((isSafe ? "somebody" : "nobody") + " is on call");
    }
}
