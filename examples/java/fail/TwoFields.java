// A point whose two coordinates belong together, moved one coordinate at a time.
//
// Meant to be atomic: Point.moveTo. Each setter holds the lock, moveTo does not hold it across
// both. A reader, itself atomic, sees a point that never was on the diagonal:
//
//   mover   TwoFields.java:33  writes x 1
//   reader  TwoFields.java:46  reads x 1
//   reader  TwoFields.java:47  reads y 0: (1, 0)
//   mover   TwoFields.java:34  writes y 1
//
// No location is touched twice here: only x and y together show the tear.
//
// expect: violation Point.moveTo
// whole:  on the diagonal
// torn:   off the diagonal: (1, 0)
public class TwoFields {
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

class Point {
    private int x;
    private int y;

    void moveTo(int newX, int newY) {
        setX(newX);
        setY(newY);
    }

    synchronized void setX(int x) {
        this.x = x;
    }

    synchronized void setY(int y) {
        this.y = y;
    }

    synchronized String describe() {
        int seenX = x;
        int seenY = y;
        return seenX == seenY
                ? "on the diagonal"
                : "off the diagonal: (" + seenX + ", " + seenY + ")";
    }
}
