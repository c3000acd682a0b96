// Fields that hide each other, fields of superclasses, constants of interfaces.
//
// The same name means three different locations here; which one is meant is decided by the type of
// the expression.
//
// expect: output
public class Inheritance {
    interface Limits {
        int SMALL = 10;
        String NAME = "limits".toUpperCase();
    }

    static class Base implements Limits {
        int value = 1;
        protected int inherited = 100;
        static int made;

        Base() {
            made++;
            touch();
        }

        /** Called by the constructor, before the fields of a subclass have their values. */
        void touch() {
            value++;
        }

        int baseValue() {
            return value;
        }
    }

    static class Middle extends Base {
        int value = 10;

        @Override
        void touch() {
            super.touch();
            value += 5;
        }

        int middleValue() {
            return value + super.value;
        }
    }

    static class Leaf extends Middle {
        int value = 100;

        int everything() {
            super.inherited += SMALL;
            return value + super.value + ((Base) this).value + inherited;
        }
    }

    static class Quiet extends Leaf {
        static int made = -1;
    }

    public static void main(String[] args) {
        var leaf = new Leaf();
        System.out.println("leaf " + leaf.value + ", middle " + ((Middle) leaf).value
                + ", base " + ((Base) leaf).value);
        leaf.value = 7;
        ((Middle) leaf).value = 8;
        ((Base) leaf).value = 9;
        System.out.println("base sees " + leaf.baseValue() + ", middle sees " + leaf.middleValue());
        System.out.println("everything " + leaf.everything());
        System.out.println("inherited " + leaf.inherited);
        Quiet quiet = new Quiet();
        System.out.println("quiet " + quiet.value);
        System.out.println("made " + Leaf.made + ", hidden " + Quiet.made);
        System.out.println("constants " + Leaf.SMALL + " " + Limits.NAME);
    }
}
