// Several lifts in a house, and people who call them.
//
// Meant to be atomic: the methods of Controls, a monitor. A person leaves a call; an idle lift
// takes the nearest one, carries the person, and reports the ride. Choosing a call and removing it
// from the list happen in one step, so no person is carried twice. Controls.nextCall waits, and
// while it waits it gives up its lock on purpose: the block ends there and begins anew.
//
// Which lift carries whom depends on the schedule; that everybody is carried once, and how far,
// does not.
//
// The argument is the number of people on each of the 8 floors, 2 by default.
//
// expect: serializable
import java.util.ArrayList;
import java.util.List;

public class Elevator {
    static final int FLOORS = 8;
    static final int LIFTS = 3;

    public static void main(String[] args) throws InterruptedException {
        int people = args.length > 0 ? Integer.parseInt(args[0]) : 2;
        var controls = new Controls();
        var lifts = new ArrayList<Thread>();
        for (int i = 0; i < LIFTS; i++) {
            lifts.add(new Thread(new Lift(controls), "lift-" + i));
        }
        var floors = new ArrayList<Thread>();
        for (int floor = 0; floor < FLOORS; floor++) {
            int from = floor;
            floors.add(new Thread(() -> callAll(controls, from, people), "floor-" + floor));
        }
        lifts.forEach(Thread::start);
        floors.forEach(Thread::start);
        for (var floor : floors) {
            floor.join();
        }
        controls.close();
        for (var lift : lifts) {
            lift.join();
        }
        System.out.println(controls.summary());
    }

    static void callAll(Controls controls, int from, int people) {
        for (int i = 0; i < people; i++) {
            int to = (from + 1 + 3 * i) % FLOORS;
            controls.call(new Call(from, to));
        }
    }
}

record Call(int from, int to) {
    int distance() {
        return Math.abs(from - to);
    }

    int distanceFrom(int floor) {
        return Math.abs(from - floor);
    }
}

class Controls {
    private final List<Call> waiting = new ArrayList<>();
    private boolean closed;
    private int rides;
    private int floorsRidden;

    synchronized void call(Call call) {
        waiting.add(call);
        notify();
    }

    /** No more calls will come. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    /** Takes the call nearest to the floor; null when the house is empty. */
    synchronized Call nextCall(int floor) throws InterruptedException {
        while (waiting.isEmpty() && !closed) {
            wait();
        }
        Call nearest = null;
        for (var call : waiting) {
            if (nearest == null || call.distanceFrom(floor) < nearest.distanceFrom(floor)) {
                nearest = call;
            }
        }
        waiting.remove(nearest);
        return nearest;
    }

    synchronized void arrived(Call call) {
        rides++;
        floorsRidden += call.distance();
    }

    synchronized String summary() {
        return rides + " rides over " + floorsRidden + " floors, " + waiting.size() + " waiting";
    }
}

class Lift implements Runnable {
    private final Controls controls;
    private int floor;

    Lift(Controls controls) {
        this.controls = controls;
    }

    @Override
    public void run() {
        try {
            var call = controls.nextCall(floor);
            while (call != null) {
                moveTo(call.from());
                moveTo(call.to());
                controls.arrived(call);
                call = controls.nextCall(floor);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void moveTo(int target) {
        while (floor != target) {
            floor += Integer.signum(target - floor);
        }
    }
}
