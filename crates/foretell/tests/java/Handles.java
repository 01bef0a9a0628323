import java.lang.invoke.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.function.*;
/** Handles, updaters and references to methods, used as they should be. */
public class Handles {
    int x; volatile long y; String s = "a"; static int st; volatile int up; volatile Object ref; double d;
    static final VarHandle X, Y, S, ST, ARR, D; static final AtomicIntegerFieldUpdater<Handles> UP = AtomicIntegerFieldUpdater.newUpdater(Handles.class, "up");
    static final AtomicReferenceFieldUpdater<Handles, Object> REF = AtomicReferenceFieldUpdater.newUpdater(Handles.class, Object.class, "ref"); static final AtomicLongFieldUpdater<Handles> LONG = AtomicLongFieldUpdater.newUpdater(Handles.class, "y");
    static { try { MethodHandles.Lookup l = MethodHandles.lookup(); X = l.findVarHandle(Handles.class, "x", int.class); Y = l.findVarHandle(Handles.class, "y", long.class); S = l.findVarHandle(Handles.class, "s", String.class); ST = l.findStaticVarHandle(Handles.class, "st", int.class); D = l.findVarHandle(Handles.class, "d", double.class); ARR = MethodHandles.arrayElementVarHandle(int[].class); } catch (ReflectiveOperationException e) { throw new ExceptionInInitializerError(e); } }
    public static void main(String[] args) throws Exception {
        Handles v = new Handles(); int[] arr = new int[4]; AtomicInteger ai = new AtomicInteger(); ReentrantLock lock = new ReentrantLock(); int[] g = new int[1];
        Runnable r = () -> {
            for (int i = 0; i < 2; i++) {
                int o; do { o = (int) X.getVolatile(v); } while (!X.compareAndSet(v, o, o + 1));
                Y.getAndAdd(v, 2L); S.compareAndSet(v, "a", "b"); S.setRelease(v, (String) S.getAcquire(v)); int q = (int) ST.getAndAdd(1);
                ARR.getAndAdd(arr, 1, 5); D.setVolatile(v, 1.5); double dd = (double) D.getVolatile(v);
                UP.incrementAndGet(v); REF.compareAndSet(v, null, v); LONG.addAndGet(v, 3); ToLongFunction<Handles> down = LONG::getAndDecrement; down.applyAsLong(v); LONG.weakCompareAndSet(v, LONG.get(v), -7); LONG.lazySet(v, 0);
                IntSupplier inc = ai::incrementAndGet; inc.getAsInt();
                Runnable lo = lock::lock, un = lock::unlock; lo.run(); try { g[0]++; } finally { un.run(); }
                Function<AtomicInteger, Integer> f = AtomicInteger::get; f.apply(ai);
            }
        };
        Thread a = new Thread(r), b = new Thread(r); a.start(); b.start(); a.join(); b.join();
        CyclicBarrier bar = new CyclicBarrier(2, () -> { g[0]++; });
        Runnable w = () -> { try { bar.await(); int z = g[0]; } catch (Exception e) { throw new RuntimeException(e); } };
        a = new Thread(w); b = new Thread(w); a.start(); b.start(); a.join(); b.join();
        System.out.println(v.x + " " + v.y + " " + v.s + " " + st + " " + arr[1] + " " + v.d + " " + v.up + " " + (v.ref == v) + " " + ai + " " + g[0]);
    }
}
