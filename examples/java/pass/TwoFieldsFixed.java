// The point of TwoFields, whose coordinates are replaced together.
//
// Meant to be atomic: Point.moveTo, and it is, without any lock: both coordinates live in one
// immutable record, and one volatile write publishes them. A reader fetches the record once.
//
// expect: serializable
public class TwoFieldsFixed {
    public static void main(String[] args) throws InterruptedException {
        var point = new Point();
        var mover = new Thread(() -> point.moveTo(1, 1), "mover");
        var reader = new Thread(() -> System.out.println(point.describe()), "reader");
        mover.start();
        reader.start();
        mover.join();
        reader.join();
    }
}

record Place(int x, int y) {}

class Point {
    private volatile Place place = new Place(0, 0);

    void moveTo(int x, int y) {
        place = new Place(x, y);
    }

    String describe() {
        var seen = place;
        return seen.x() == seen.y() ? "on the diagonal" : "off the diagonal: " + seen;
    }
}
