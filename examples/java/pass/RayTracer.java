// A small ray tracer: spheres over a floor, one light, shadows and mirrors. The rows are shared out
// among threads.
//
// Meant to be atomic: Rows.take, which hands each row to one thread. The picture is an array of
// rows, each written by the one thread that took it; the scene is immutable.
//
// The argument is the height and width of the picture, 48 by default; 4000 runs for seconds. The
// checksum is the same for every schedule.
//
// expect: serializable
public class RayTracer {
    static final int THREADS = 4;

    public static void main(String[] args) throws InterruptedException {
        int size = args.length > 0 ? Integer.parseInt(args[0]) : 48;
        var scene = Scene.sample();
        var picture = new int[size][size];
        var rows = new Rows(size);
        var workers = new Thread[THREADS];
        for (int t = 0; t < THREADS; t++) {
            workers[t] = new Thread(() -> render(scene, picture, rows), "worker-" + t);
            workers[t].start();
        }
        for (var worker : workers) {
            worker.join();
        }
        System.out.println("picture " + size + " x " + size + ", checksum " + checksum(picture));
    }

    static void render(Scene scene, int[][] picture, Rows rows) {
        for (int y = rows.take(); y >= 0; y = rows.take()) {
            for (int x = 0; x < picture.length; x++) {
                picture[y][x] = scene.pixel(x, y, picture.length);
            }
        }
    }

    static long checksum(int[][] picture) {
        long sum = 0;
        for (var row : picture) {
            for (int pixel : row) {
                sum = (sum * 31 + pixel) % 1_000_000_007;
            }
        }
        return sum;
    }
}

/** The rows still to be drawn. */
class Rows {
    private int left;

    Rows(int count) {
        left = count;
    }

    synchronized int take() {
        return --left < 0 ? -1 : left;
    }
}

record Vec(double x, double y, double z) {
    Vec plus(Vec o) {
        return new Vec(x + o.x, y + o.y, z + o.z);
    }

    Vec minus(Vec o) {
        return new Vec(x - o.x, y - o.y, z - o.z);
    }

    Vec times(double k) {
        return new Vec(k * x, k * y, k * z);
    }

    double dot(Vec o) {
        return x * o.x + y * o.y + z * o.z;
    }

    Vec unit() {
        return times(1 / Math.sqrt(dot(this)));
    }

    Vec mirroredAt(Vec normal) {
        return minus(normal.times(2 * dot(normal)));
    }
}

record Sphere(Vec centre, double radius, double shade, double mirror) {
    /** The distance along the ray to the surface, or infinity. */
    double hit(Vec from, Vec along) {
        var toCentre = centre.minus(from);
        double middle = toCentre.dot(along);
        double squared = middle * middle - toCentre.dot(toCentre) + radius * radius;
        if (squared < 0) {
            return Double.POSITIVE_INFINITY;
        }
        double near = middle - Math.sqrt(squared);
        return near > 1e-6 ? near : Double.POSITIVE_INFINITY;
    }
}

record Scene(Sphere[] spheres, Vec light) {
    static Scene sample() {
        return new Scene(new Sphere[] {
            new Sphere(new Vec(0, -1000, 8), 999, 0.6, 0.1),
            new Sphere(new Vec(0, 0, 6), 1, 0.9, 0.3),
            new Sphere(new Vec(-2, -0.4, 5), 0.6, 0.7, 0.6),
            new Sphere(new Vec(1.7, -0.5, 4.5), 0.5, 0.8, 0.2),
            new Sphere(new Vec(1.2, 1.2, 7), 0.8, 0.5, 0.7),
        }, new Vec(-0.5, 1, -0.6).unit());
    }

    /** A shade of grey from 0 to 255. */
    int pixel(int x, int y, int size) {
        double half = size / 2.0;
        var along = new Vec((x - half) / half, (half - y) / half, 2).unit();
        return (int) (255 * Math.min(1, brightness(new Vec(0, 0, 0), along, 4)));
    }

    private double brightness(Vec from, Vec along, int bounces) {
        Sphere nearest = null;
        double distance = Double.POSITIVE_INFINITY;
        for (var sphere : spheres) {
            double d = sphere.hit(from, along);
            if (d < distance) {
                nearest = sphere;
                distance = d;
            }
        }
        if (nearest == null) {
            return 0.3 + 0.3 * Math.max(0, along.y());
        }
        var at = from.plus(along.times(distance));
        var normal = at.minus(nearest.centre()).unit();
        double diffuse = inShadow(at) ? 0 : Math.max(0, normal.dot(light));
        double own = nearest.shade() * (0.1 + 0.9 * diffuse);
        if (bounces == 0) {
            return own;
        }
        double seen = brightness(at, along.mirroredAt(normal), bounces - 1);
        return own * (1 - nearest.mirror()) + seen * nearest.mirror();
    }

    private boolean inShadow(Vec at) {
        for (var sphere : spheres) {
            if (sphere.hit(at, light) < Double.POSITIVE_INFINITY) {
                return true;
            }
        }
        return false;
    }
}
