// Write skew: two doctors are on call and may both leave, because each sees that the other one stays.
//
// Meant to be atomic: WriteSkew.leave, which reads the state of both doctors and writes that of one. Each state is
// locked; no variable is written by two threads, so no update is lost:
//
//   Alice  sees that Bob is on call
//   Bob    sees that Alice is on call
//   Alice  leaves
//   Bob    leaves: nobody is on call
//
// expect: violation WriteSkew.leave
// whole:  somebody is on call
// torn:   nobody is on call
public class WriteSkew {
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

    private void leave(Doctor one, Doctor other) {
        if (other.isOnCall()) {
            one.leave();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        var ward = new WriteSkew();
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
