package foretell.rt;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;

/**
 * The program's own subclasses of AbstractQueuedSynchronizer. What such a class does is decided by
 * the methods of the program that it calls, which are recorded, and by its state: an atomic
 * variable of the trace. The queue only delays a thread until the state may have changed, so that
 * `acquire` and `release` themselves need no events. Methods that look at the queue use hidden
 * state.
 */
public final class OwnSynchronizers {
    /** Replaced methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] METHODS = {
        {"java.util.concurrent.locks.AbstractQueuedSynchronizer", "getState()I", "setState(I)V",
            "compareAndSetState(II)Z"},
    };

    private static final Set<String> MODELLED = new HashSet<String>(Arrays.asList("acquire",
        "acquireInterruptibly", "tryAcquireNanos", "release", "acquireShared",
        "acquireSharedInterruptibly", "tryAcquireSharedNanos", "releaseShared",
        "setExclusiveOwnerThread", "getExclusiveOwnerThread"));

    private static final Method GET = method("getState");
    private static final Method SET = method("setState", int.class);
    private static final Method COMPARE = method("compareAndSetState", int.class, int.class);

    private OwnSynchronizers() {
    }

    private static Method method(String name, Class<?>... parameters) {
        try {
            Method m = AbstractQueuedSynchronizer.class.getDeclaredMethod(name, parameters);
            m.setAccessible(true);
            return m;
        } catch (Exception e) {
            throw new IllegalStateException("foretell: this platform has no " + name, e);
        }
    }

    /** Whether the state of the object says all that a method does. */
    static boolean isModelled(Class<?> declaring, String method) {
        return MODELLED.contains(method)
            && declaring.getName().startsWith("java.util.concurrent.locks.Abstract");
    }

    private static Object call(Method m, Object... arguments) {
        try {
            return m.invoke(arguments[0], Arrays.copyOfRange(arguments, 1, arguments.length));
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    public static int getState(AbstractQueuedSynchronizer s, int site) {
        int v = (Integer) call(GET, s);
        Atomics.read(s, 0, v, site);
        return v;
    }

    public static void setState(AbstractQueuedSynchronizer s, int v, int site) {
        call(SET, s, v);
        Atomics.wrote(s, 0, v, site);
    }

    public static boolean compareAndSetState(AbstractQueuedSynchronizer s, int expected, int v,
                                             int site) {
        int old = (Integer) call(GET, s);
        boolean done = (Boolean) call(COMPARE, s, expected, v);
        Atomics.updatedOrFailed(done, s, 0, old, v, site);
        return done;
    }
}
