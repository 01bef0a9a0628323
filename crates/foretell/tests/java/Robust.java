import java.io.*;
import java.lang.reflect.*;
import java.util.*;
import java.util.function.*;
/** Constructs that a class rewriter gets wrong easily; ends with status 3. */
public class Robust {
    record Point(int x, int y) { Point { if (x < 0) throw new IllegalArgumentException("x"); } }
    enum Color { RED { @Override int n() { return 1; } }, BLUE; int n() { return 2; } }
    interface Shape { default double area() { return sides() * 1.5; } int sides(); static Shape of(int n) { return () -> n; } }
    static class Fails { int a = 1; Fails() { this(compute()); a = 2; } Fails(int v) { if (v > 0) throw new IllegalStateException("no " + v); } static int compute() { return 5; } }
    class Inner { int v = outer; class Deep { int w = v + outer; } }
    int outer = 7;
    static class Ser implements Serializable { int a = 3; transient int b = 4; String s = "s"; }
    static class Loader extends ClassLoader {
        Loader() { super(Robust.class.getClassLoader()); }
        @Override protected Class<?> loadClass(String n, boolean r) throws ClassNotFoundException {
            if (n.equals("Robust$Loaded")) {
                Class<?> c = findLoadedClass(n); if (c != null) return c;
                try (InputStream in = getParent().getResourceAsStream("Robust$Loaded.class")) { byte[] b = in.readAllBytes(); return defineClass(n, b, 0, b.length); } catch (IOException e) { throw new ClassNotFoundException(n); }
            }
            return super.loadClass(n, r);
        }
    }
    public static class Loaded { static int count; public static int next() { return ++count; } }
    static int depth; static void recurse() { depth++; recurse(); }
    static synchronized int syncThrow(int i) { if (i == 0) throw new RuntimeException("sync"); return i; }
    static long sw(Object o) { return switch (o.toString()) { case "a" -> 1L; case "b" -> 2L; default -> 3L; }; }
    static double tern(boolean b, double d, long l) { double[] ds = { d, l }; ds[b ? 0 : 1] += 2; long[] ls = new long[2]; ls[1] = l; ls[0] = ls[1]++ + 1; return ds[0] + ds[1] + ls[0] + ls[1]; }
    static int fin() { try { return 1; } finally { depth = 0; } }
    byte[] bs = new byte[2]; short[] ss = new short[2]; char[] cs = new char[2]; boolean[] zs = new boolean[2]; float[] fs = new float[2];
    int[][] grid = new int[3][4];
    public static void main(String[] args) throws Exception {
        System.out.println(new Point(1, 2) + " " + new Point(1, 2).equals(new Point(1, 2)) + " " + new Point(3,4).hashCode());
        try { new Point(-1, 0); } catch (IllegalArgumentException e) { System.out.println(e); }
        for (Color c : Color.values()) System.out.println(c + " " + c.n() + " " + switch (c) { case RED -> "r"; case BLUE -> "b"; });
        System.out.println(Shape.of(4).area());
        try { new Fails(); } catch (IllegalStateException e) { System.out.println(e.getMessage() + " " + e.getStackTrace()[0] + " " + e.getStackTrace()[1] + " " + e.getStackTrace()[2]); }
        Robust r = new Robust(); Inner.Deep d = r.new Inner().new Deep(); System.out.println(d.w);
        ByteArrayOutputStream bo = new ByteArrayOutputStream(); new ObjectOutputStream(bo).writeObject(new Ser());
        Ser back = (Ser) new ObjectInputStream(new ByteArrayInputStream(bo.toByteArray())).readObject();
        System.out.println(back.a + " " + back.b + " " + back.s + " " + ObjectStreamClass.lookup(Ser.class).getSerialVersionUID() + " " + bo.size());
        for (int i = 0; i < 2; i++) { Class<?> c = new Loader().loadClass("Robust$Loaded"); Method m = c.getMethod("next"); m.invoke(null); System.out.println(m.invoke(null)); }
        System.out.println(Loaded.next());
        try { recurse(); } catch (StackOverflowError e) { System.out.println("deep " + (depth > 100)); }
        try { syncThrow(0); } catch (RuntimeException e) { System.out.println(e.getMessage() + " " + Thread.holdsLock(Robust.class)); }
        System.out.println(syncThrow(4) + " " + sw("b") + " " + tern(true, 1.5, 7L) + " " + fin());
        r.bs[1] = 3; r.bs[1] += 300; r.ss[0]--; r.cs[1] = 'x'; r.cs[1]++; r.zs[0] |= true; r.fs[1] = 1.5f; r.fs[1] *= 2; r.grid[1][2]++; r.grid[2] = r.grid[1];
        System.out.println(r.bs[1] + " " + r.ss[0] + " " + r.cs[1] + " " + r.zs[0] + " " + r.fs[1] + " " + r.grid[2][2]);
        try { Object o = "s"; Integer i = (Integer) o; } catch (ClassCastException e) { System.out.println("cce"); }
        try { new Object().wait(); } catch (IllegalMonitorStateException e) { System.out.println(e.getMessage() + " " + e.getStackTrace()[0].getMethodName()+ e.getStackTrace().length); }
        try { String s = null; s.length(); } catch (NullPointerException e) { System.out.println(e.getMessage()); }
        try { Robust n = null; n.outer = 3; } catch (NullPointerException e) { System.out.println(e.getMessage()); }
        List<byte[]> hog = new ArrayList<>();
        try { while (true) hog.add(new byte[8 << 20]); } catch (OutOfMemoryError e) { hog = null; System.out.println("oom"); }
        Thread daemon = new Thread(() -> { while (true) { depth++; } }); daemon.setDaemon(true); daemon.start();
        Thread dies = new Thread(() -> { throw new IllegalStateException("thread dies"); }, "dies"); dies.start(); dies.join();
        Function<Integer, Function<Integer, Integer>> add = a -> b -> a + b; System.out.println(add.apply(2).apply(3));
        Object proxy = Proxy.newProxyInstance(Robust.class.getClassLoader(), new Class<?>[] { Runnable.class }, (p, m, a) -> { System.out.println("proxied " + m.getName()); return null; }); ((Runnable) proxy).run();
        System.out.println(Arrays.asList(Robust.class.getDeclaredFields()).size() + " " + Robust.class.getDeclaredMethods().length);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        Object lock = new Object(); new Thread(() -> { synchronized (lock) { try { lock.wait(); } catch (InterruptedException e) { } } }).start();
        Scanner in = new Scanner(System.in); System.out.println(in.hasNextLine() ? in.nextLine() : "no input");
        System.exit(3);
    }
}
