// Fields and arrays of every type, instance and static, written with known values and read back.
//
// The floating-point values include those whose bits are easily lost: minus zero, NaN, the
// smallest, minus infinity.
//
// expect: output
import java.util.Arrays;
import java.util.stream.Collectors;

public class Values {
    boolean aBoolean;
    byte aByte;
    char aChar;
    short aShort;
    int anInt;
    long aLong;
    float aFloat;
    double aDouble;
    String aString;
    int[] anArray;

    static boolean staticBoolean;
    static byte staticByte;
    static char staticChar;
    static short staticShort;
    static int staticInt;
    static long staticLong;
    static float staticFloat;
    static double staticDouble;
    static String staticString;
    static volatile long volatileLong;
    static volatile double volatileDouble;

    public static void main(String[] args) {
        instanceFields();
        staticFields();
        arrays();
        extremes();
    }

    static void instanceFields() {
        var v = new Values();
        System.out.println("fresh " + v);
        v.aBoolean = true;
        v.aByte = -101;
        v.aChar = 'Z';
        v.aShort = -30_001;
        v.anInt = 0x12345678;
        v.aLong = 0x123456789ABCDEFL;
        v.aFloat = 1.5f;
        v.aDouble = -2.25;
        v.aString = "text";
        v.anArray = new int[] {1, 2};
        System.out.println("written " + v);
        v.aString = null;
        v.anArray = null;
        System.out.println("null again " + v.aString + " " + Arrays.toString(v.anArray));
    }

    @Override
    public String toString() {
        return line(aBoolean, aByte, (int) aChar, aShort, anInt, aLong, aFloat, aDouble, aString)
                + " " + Arrays.toString(anArray);
    }

    static String line(Object... values) {
        return Arrays.stream(values).map(String::valueOf).collect(Collectors.joining(" "));
    }

    static void print(Object... values) {
        System.out.println(line(values));
    }

    static void staticFields() {
        staticBoolean = true;
        staticByte = Byte.MIN_VALUE;
        staticChar = '\uFFFF';
        staticShort = Short.MAX_VALUE;
        staticInt = Integer.MIN_VALUE;
        staticLong = Long.MIN_VALUE;
        staticFloat = 0.1f;
        staticDouble = 0.1;
        staticString = "static";
        volatileLong = -1;
        volatileDouble = 1e100;
        print("static", staticBoolean, staticByte, (int) staticChar, staticShort);
        print("static", staticInt, staticLong, staticFloat, staticDouble, staticString);
        print("volatile", volatileLong, volatileDouble);
    }

    static void arrays() {
        var booleans = new boolean[2];
        var bytes = new byte[2];
        var chars = new char[] {'-', '-'};
        var shorts = new short[2];
        var ints = new int[2];
        var longs = new long[2];
        var floats = new float[2];
        var doubles = new double[2];
        var strings = new String[2];
        var grid = new long[2][2];
        booleans[1] = true;
        bytes[1] = (byte) 0xFF;
        chars[1] = 'q';
        shorts[1] = (short) 0xFFFF;
        ints[1] = -7;
        longs[1] = 1L << 40;
        floats[1] = -0.5f;
        doubles[1] = 1e-300;
        strings[1] = "one";
        grid[1][0] = 10;
        System.out.println(Arrays.toString(booleans) + " " + Arrays.toString(bytes));
        System.out.println(Arrays.toString(chars) + " " + Arrays.toString(shorts));
        System.out.println(Arrays.toString(ints) + " " + Arrays.toString(longs));
        System.out.println(Arrays.toString(floats) + " " + Arrays.toString(doubles));
        System.out.println(Arrays.toString(strings) + " " + Arrays.deepToString(grid));
        print("elements", booleans[1], bytes[1], chars[1], shorts[1], ints[1]);
        print("elements", longs[1], floats[1], doubles[1], strings[1], grid[1][0]);
    }

    static void extremes() {
        var floats = new float[] {-0.0f, Float.NaN, Float.MIN_VALUE, Float.NEGATIVE_INFINITY};
        for (float f : floats) {
            var v = new Values();
            v.aFloat = f;
            int bits = Float.floatToRawIntBits(v.aFloat);
            System.out.println("float bits " + Integer.toHexString(bits));
        }
        var doubles = new double[] {-0.0, Double.NaN, Double.MIN_VALUE, Double.NEGATIVE_INFINITY};
        for (double d : doubles) {
            var v = new Values();
            v.aDouble = d;
            long bits = Double.doubleToRawLongBits(v.aDouble);
            System.out.println("double bits " + Long.toHexString(bits));
        }
    }
}
