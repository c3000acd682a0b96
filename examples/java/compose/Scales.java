// ICFinder's Listing 2: two getters that give one consistent picture only if nobody changes the
// scale between them. There is no dependence, but one call never runs without the other, and
// elsewhere both fields are written in one step.
//
// expect: comp Painter.paint GraphImage.getXscale GraphImage.getYscale
// Two getters of fields that nobody writes together are no composition:
// expect: none Painter.describe GraphImage.getXscale GraphImage.getTitle
// whole:  1.01.0
// or:     1.02.0
// or:     4.02.0
// torn:   2.02.0
class GraphImage {
    private double xscale = 1;
    private double yscale = 1;
    private String title = "";

    synchronized double getXscale() {
        return xscale;
    }

    synchronized double getYscale() {
        return yscale;
    }

    synchronized void setScale(double x, double y) {
        xscale = x;
        yscale = y;
    }

    synchronized String getTitle() {
        return title;
    }

    synchronized void setTitle(String title) {
        this.title = title;
    }
}

class Painter {
    private final GraphImage image;

    Painter(GraphImage image) {
        this.image = image;
    }

    double paint() {
        double x = image.getXscale();
        double y = image.getYscale();
        return x * y;
    }

    String describe() {
        double x = image.getXscale();
        String title = image.getTitle();
        return title + x;
    }
}

public class Scales {
    public static void main(String[] args) {
        GraphImage image = new GraphImage();
        new Thread(() -> image.setScale(2, 2)).start();
        Painter painter = new Painter(image);
        System.out.println(painter.paint() + painter.describe());
    }
}
