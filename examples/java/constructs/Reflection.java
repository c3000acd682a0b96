// Methods, fields, constructors, arrays and proxies by reflection; method and variable handles.
//
// expect: output
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Arrays;

public class Reflection {
    static class Target {
        private int number = 1;
        public long total = 10;
        static String shared = "shared";
        final double fixed;

        Target(double fixed) {
            this.fixed = fixed;
        }

        synchronized int add(int change) {
            number += change;
            return number;
        }

        static String greet(String name) {
            return "hello " + name;
        }

        void fail() {
            throw new IllegalStateException("on purpose");
        }
    }

    interface Greeter {
        String greet(String name);

        default String twice(String name) {
            return greet(name) + " " + greet(name);
        }
    }

    public static void main(String[] args) throws Throwable {
        var target = Target.class.getDeclaredConstructor(double.class).newInstance(2.5);
        methods(target);
        fields(target);
        arrays();
        proxy();
        handles(target);
        fromThreads(target);
    }

    static void methods(Target target) throws ReflectiveOperationException {
        var add = Target.class.getDeclaredMethod("add", int.class);
        int sum = 0;
        for (int i = 0; i < 20; i++) {
            sum = (int) add.invoke(target, i);
        }
        var greet = Target.class.getDeclaredMethod("greet", String.class);
        System.out.println("methods " + sum + ", " + greet.invoke(null, "you"));
        try {
            Target.class.getDeclaredMethod("fail").invoke(target);
        } catch (InvocationTargetException e) {
            System.out.println("failed " + e.getCause().getMessage());
        }
    }

    static void fields(Target target) throws ReflectiveOperationException {
        var number = Target.class.getDeclaredField("number");
        number.setInt(target, number.getInt(target) * 2);
        var total = Target.class.getField("total");
        total.setLong(target, 1L << 33);
        var shared = Target.class.getDeclaredField("shared");
        shared.set(null, shared.get(null) + " twice");
        var fixed = Target.class.getDeclaredField("fixed");
        System.out.println("fields " + target.number + " " + target.total + " " + Target.shared);
        System.out.println("final field " + fixed.getDouble(target));
        System.out.println("declared " + Target.class.getDeclaredFields().length + " fields, "
                + Target.class.getDeclaredMethods().length + " methods");
    }

    static void arrays() {
        var array = (int[]) Array.newInstance(int.class, 3);
        Array.setInt(array, 1, 5);
        Array.set(array, 2, 6);
        System.out.println("array " + Arrays.toString(array) + " " + Array.get(array, 2));
    }

    static void proxy() {
        var greeter = (Greeter) Proxy.newProxyInstance(
                Reflection.class.getClassLoader(),
                new Class<?>[] {Greeter.class},
                (self, method, arguments) -> method.getName() + "(" + arguments[0] + ")");
        System.out.println("proxy " + greeter.greet("a") + " " + greeter.twice("b"));
    }

    static void handles(Target target) throws Throwable {
        var lookup = MethodHandles.lookup();
        var type = MethodType.methodType(String.class, String.class);
        var greet = lookup.findStatic(Target.class, "greet", type);
        System.out.println("method handle " + (String) greet.invokeExact("handle"));
        VarHandle number = lookup.findVarHandle(Target.class, "number", int.class);
        number.setVolatile(target, 5);
        boolean swapped = number.compareAndSet(target, 5, 6);
        boolean again = number.compareAndSet(target, 5, 7);
        int before = (int) number.getAndAdd(target, 10);
        System.out.println("variable handle: swapped " + swapped + " " + again);
        System.out.println("variable handle: " + before + " becomes " + target.number);
        VarHandle elements = MethodHandles.arrayElementVarHandle(long[].class);
        var longs = new long[2];
        elements.setRelease(longs, 1, 9L);
        long element = (long) elements.getAcquire(longs, 1);
        System.out.println("element handle " + element + " " + longs[0]);
    }

    static void fromThreads(Target target) throws Exception {
        var add = Target.class.getDeclaredMethod("add", int.class);
        target.number = 0;
        var threads = new Thread[3];
        for (int t = 0; t < threads.length; t++) {
            threads[t] = new Thread(() -> {
                try {
                    for (int i = 0; i < 30; i++) {
                        add.invoke(target, 1);
                    }
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException(e);
                }
            }, "invoker-" + t);
            threads[t].start();
        }
        for (var thread : threads) {
            thread.join();
        }
        System.out.println("from threads " + target.number);
    }
}
