import java.lang.invoke.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
/**
 * One thread at a time can run, from the first to the last. The attempt in `main` fails. The only
 * way from the block's `y` to its `z` is through the attempt and what comes after it; before the
 * block its thread has made the attempt possible.
 */
public class Attempts {
    @interface Atomic { }
    /** Something to be changed. */
    interface Cell {
        /** It is not as `change` wants it, until it is made ready. */
        boolean change();
        void ready();
        /** Makes it as it was, whatever it is. */
        default void set() { throw new IllegalStateException(); }
    }
    static class Int implements Cell {
        final AtomicInteger x = new AtomicInteger(1);
        public boolean change() { return x.compareAndSet(0, 5); }
        public void ready() { x.set(0); }
        public void set() { x.set(3); }
    }
    static class Ref implements Cell {
        static final String A = "a", B = "b", C = "c";
        final AtomicReference<String> x = new AtomicReference<>(A);
        public boolean change() { return x.weakCompareAndSet(B, C); }
        public void ready() { x.set(B); }
        public void set() { x.set(A); }
    }
    static class Array implements Cell {
        final AtomicLongArray x = new AtomicLongArray(new long[] {0, 1});
        public boolean change() { return x.compareAndSet(1, 0, 5); }
        public void ready() { x.set(1, 0); }
        public void set() { x.set(1, 3); }
    }
    static class Updater implements Cell {
        volatile int x = 1;
        static final AtomicIntegerFieldUpdater<Updater> X = AtomicIntegerFieldUpdater.newUpdater(Updater.class, "x");
        public boolean change() { return X.compareAndSet(this, 0, 5); }
        public void ready() { x = 0; }
        public void set() { x = 3; }
    }
    static class Handle implements Cell {
        volatile int x = 1;
        static final VarHandle X;
        static { try { X = MethodHandles.lookup().findVarHandle(Handle.class, "x", int.class); } catch (ReflectiveOperationException e) { throw new ExceptionInInitializerError(e); } }
        public boolean change() { return (int) X.compareAndExchange(this, 0, 5) == 0; }
        public void ready() { X.setVolatile(this, 0); }
        public void set() { X.setVolatile(this, 3); }
    }
    static class Element implements Cell {
        final int[] x = {0, 1};
        static final VarHandle X = MethodHandles.arrayElementVarHandle(int[].class);
        public boolean change() { return X.compareAndSet(x, 1, 0, 5); }
        public void ready() { X.setVolatile(x, 1, 0); }
        public void set() { X.setVolatile(x, 1, 3); }
    }
    static class PutIfAbsent implements Cell {
        final ConcurrentHashMap<String, Integer> x = new ConcurrentHashMap<>();
        { x.put("k", 1); }
        public boolean change() { return x.putIfAbsent("k", 5) == null; }
        public void ready() { x.remove("k"); }
        public void set() { x.put("k", 3); }
    }
    static class ComputeIfAbsent extends PutIfAbsent {
        public boolean change() { boolean[] done = new boolean[1]; x.computeIfAbsent("k", k -> { done[0] = true; return 5; }); return done[0]; }
    }
    static class Remove implements Cell {
        final ConcurrentSkipListMap<String, Integer> x = new ConcurrentSkipListMap<>();
        public boolean change() { return x.remove("k") != null; }
        public void ready() { x.put("k", 1); }
    }
    static class Replace extends Remove {
        public boolean change() { return x.replace("k", 1, 2); }
    }
    static class Poll implements Cell {
        final BlockingQueue<Integer> x = new LinkedBlockingQueue<>();
        public boolean change() { return x.poll() != null; }
        public void ready() { x.add(1); }
    }
    static class RemoveFirst extends Poll {
        public boolean change() { try { return x.remove() != null; } catch (RuntimeException empty) { return false; } }
    }
    static class Offer implements Cell {
        final BlockingQueue<Integer> x = new ArrayBlockingQueue<>(1);
        { x.add(0); }
        public boolean change() { return x.offer(1); }
        public void ready() { x.poll(); }
    }
    static class Add extends Offer {
        public boolean change() { try { return x.add(1); } catch (IllegalStateException full) { return false; } }
    }

    static final AtomicInteger Y = new AtomicInteger(), Z = new AtomicInteger();
    static Cell cell;
    static String how;

    static void run(Runnable after, Runnable body) {
        Thread t = new Thread(after);
        t.start();
        body.run();
        try { t.join(); } catch (InterruptedException e) { throw new IllegalStateException(e); }
    }
    static void third() {
        boolean goesOn = true;
        switch (how) {
            case "set": cell.set(); break;
            case "change": goesOn = cell.change(); break;
            default: throw new IllegalArgumentException(how);
        }
        if (goesOn) Z.set(1);
    }
    @Atomic static void block() { Y.set(2); Z.get(); }
    static void second() { cell.ready(); block(); }
    /** The attempt between two changes of one block. */
    @Atomic static void changes() { cell.ready(); cell.change(); }
    public static void main(String[] args) throws Exception {
        cell = (Cell) Class.forName("Attempts$" + args[0]).getDeclaredConstructor().newInstance();
        how = args[1];
        if (how.equals("between")) {
            run(Attempts::changes, () -> System.out.println(cell.change()));
            return;
        }
        run(() -> run(Attempts::third, Attempts::second), () -> { Y.set(1); System.out.println(cell.change()); });
        System.out.println(Z.get());
    }
}
