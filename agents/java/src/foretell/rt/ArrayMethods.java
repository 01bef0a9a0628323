package foretell.rt;

import java.lang.reflect.Array;
import java.util.Arrays;

/**
 * Replacements for methods that use many elements of an array at once: each element is accessed as
 * by the program itself, all of them in one step. Large arrays use hidden state instead.
 */
public final class ArrayMethods {
    /** Replaced static methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] STATIC_METHODS = {
        {"java.lang.System", "arraycopy(Ljava/lang/Object;ILjava/lang/Object;II)V"},
        {"java.util.Arrays", "fill([II)V", "fill([JJ)V", "fill([DD)V", "fill([BB)V", "fill([CC)V",
            "fill([ZZ)V", "fill([Ljava/lang/Object;Ljava/lang/Object;)V", "sort([I)V", "sort([J)V",
            "sort([D)V", "sort([C)V", "copyOf([II)[I", "copyOf([JI)[J", "copyOf([DI)[D",
            "copyOf([Ljava/lang/Object;I)[Ljava/lang/Object;", "copyOfRange([III)[I",
            "equals([I[I)Z", "hashCode([I)I",
            "toString([I)Ljava/lang/String;", "toString([J)Ljava/lang/String;",
            "toString([D)Ljava/lang/String;"},
    };

    /** Largest number of elements that are accessed one by one. */
    private static final int MOST = 64;

    private ArrayMethods() {
    }

    /** Whether a call uses too many elements, or a wrong number of them. */
    private static boolean isLarge(int count) {
        return count > MOST || count < 0;
    }

    private static long value(Object array, int i) {
        if (array instanceof Object[]) {
            return ObjectIds.of(((Object[]) array)[i]);
        }
        if (array instanceof int[]) {
            return ((int[]) array)[i];
        }
        if (array instanceof long[]) {
            return ((long[]) array)[i];
        }
        if (array instanceof double[]) {
            return Double.doubleToRawLongBits(((double[]) array)[i]);
        }
        if (array instanceof float[]) {
            return Float.floatToRawIntBits(((float[]) array)[i]);
        }
        if (array instanceof boolean[]) {
            return ((boolean[]) array)[i] ? 1 : 0;
        }
        return array instanceof char[] ? ((char[]) array)[i]
            : ((Number) Array.get(array, i)).longValue();
    }

    /** Returns the values of elements before a call; null if the thread is not recorded. */
    private static long[] values(Object array, int from, int count) {
        if (Synchronizers.recordingThread() == null) {
            return null;
        }
        long[] values = new long[count];
        for (int i = 0; i < count; i++) {
            values[i] = value(array, from + i);
        }
        return values;
    }

    /** Records accesses after a call: reads of one array, and writes of another one. */
    private static void accessed(Object source, int from, long[] read, Object target, int to,
                                 int written, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        if (Log.on) {
            long[] now = target == null ? null : values(target, to, written);
            Log.hidden(t, Log.HIDDEN_CALL, site, 0, NO_USES, 0);
            if (source != null && read != null) {
                Log.range(t, Log.RANGE_READ, site, ObjectIds.of(source), from, read);
            }
            if (target != null) {
                Log.range(t, Log.RANGE_WRITE, site, ObjectIds.of(target), to, now);
            }
        }
        Hooks.step(t, Kind.HIDDEN_CALL, site);
    }

    private static final long[] NO_USES = {};

    public static void arraycopy(Object source, int from, Object target, int to, int count,
                                 int site) {
        if (source == null || target == null || isLarge(count) || !source.getClass().isArray()
            || from < 0 || from + count > Array.getLength(source)) {
            long token = Hidden.callOf(System.class, source, target, null, site);
            System.arraycopy(source, from, target, to, count);
            Hidden.returnedOf(null, System.class, source, target, null, token, site);
            Hooks.afterCall();
            return;
        }
        long[] read = values(source, from, count);
        try {
            System.arraycopy(source, from, target, to, count);
        } catch (RuntimeException e) {
            throw Stacks.withoutRuntimeFrames(e);
        }
        accessed(source, from, read, target, to, count, site);
    }

    private static long before(Object array, int length, int site) {
        return isLarge(length) ? Hidden.callOf(Arrays.class, array, null, null, site) : 0;
    }

    private static void written(Object array, int length, int site) {
        if (isLarge(length)) {
            Hooks.afterCall();
        } else {
            accessed(null, 0, null, array, 0, length, site);
        }
    }

    public static void fill(int[] a, int v, int site) {
        before(a, a.length, site);
        Arrays.fill(a, v);
        written(a, a.length, site);
    }

    public static void fill(long[] a, long v, int site) {
        before(a, a.length, site);
        Arrays.fill(a, v);
        written(a, a.length, site);
    }

    public static void fill(double[] a, double v, int site) {
        before(a, a.length, site);
        Arrays.fill(a, v);
        written(a, a.length, site);
    }

    public static void fill(byte[] a, byte v, int site) {
        before(a, a.length, site);
        Arrays.fill(a, v);
        written(a, a.length, site);
    }

    public static void fill(char[] a, char v, int site) {
        before(a, a.length, site);
        Arrays.fill(a, v);
        written(a, a.length, site);
    }

    public static void fill(boolean[] a, boolean v, int site) {
        before(a, a.length, site);
        Arrays.fill(a, v);
        written(a, a.length, site);
    }

    public static void fill(Object[] a, Object v, int site) {
        before(a, a.length, site);
        Arrays.fill(a, v);
        written(a, a.length, site);
    }

    private static void sorted(Object array, int length, long[] read, int site) {
        if (isLarge(length)) {
            Hooks.afterCall();
        } else {
            accessed(array, 0, read, array, 0, length, site);
        }
    }

    public static void sort(int[] a, int site) {
        before(a, a.length, site);
        long[] read = isLarge(a.length) ? null : values(a, 0, a.length);
        Arrays.sort(a);
        sorted(a, a.length, read, site);
    }

    public static void sort(long[] a, int site) {
        before(a, a.length, site);
        long[] read = isLarge(a.length) ? null : values(a, 0, a.length);
        Arrays.sort(a);
        sorted(a, a.length, read, site);
    }

    public static void sort(double[] a, int site) {
        before(a, a.length, site);
        long[] read = isLarge(a.length) ? null : values(a, 0, a.length);
        Arrays.sort(a);
        sorted(a, a.length, read, site);
    }

    public static void sort(char[] a, int site) {
        before(a, a.length, site);
        long[] read = isLarge(a.length) ? null : values(a, 0, a.length);
        Arrays.sort(a);
        sorted(a, a.length, read, site);
    }

    private static <T> T copied(Object array, int length, T result, int site) {
        if (isLarge(length)) {
            Hooks.afterCall();
        } else {
            long[] read = values(array, 0, length);
            Object target = result != null && result.getClass().isArray() ? result : null;
            allocated(target, site);
            accessed(array, 0, read, target, 0, length, site);
        }
        return result;
    }

    /** Records that an array is new; its elements are not. */
    private static void allocated(Object array, int site) {
        ThreadState t = array == null || !Log.on ? null : Synchronizers.recordingThread();
        if (t != null) {
            Log.allocated(t, ObjectIds.of(array), site);
        }
    }

    /** Copy of an array by its method `clone`. */
    public static Object clone(Object array, int site) {
        if (array == null) {
            throw Stacks.withoutRuntimeFrames(new NullPointerException());
        }
        int length = Array.getLength(array);
        if (isLarge(length)) {
            Hidden.call(array, null, null, null, site);
        }
        Object copy = Array.newInstance(array.getClass().getComponentType(), length);
        System.arraycopy(array, 0, copy, 0, length);
        return copied(array, length, copy, site);
    }

    public static Object[] copyOf(Object[] a, int n, int site) {
        before(a, a.length, site);
        return copied(a, Math.min(n, a.length), Arrays.copyOf(a, n), site);
    }

    public static int[] copyOfRange(int[] a, int from, int to, int site) {
        before(a, a.length, site);
        int[] copy = Arrays.copyOfRange(a, from, to);
        if (isLarge(a.length)) {
            Hooks.afterCall();
        } else {
            int length = Math.min(to, a.length) - from;
            long[] read = values(a, from, length);
            allocated(copy, site);
            accessed(a, from, read, copy, 0, length, site);
        }
        return copy;
    }

    public static boolean equals(int[] a, int[] b, int site) {
        boolean same = Arrays.equals(a, b);
        hashed(a, site);
        hashed(b, site);
        return same;
    }

    public static int hashCode(int[] a, int site) {
        int hash = Arrays.hashCode(a);
        hashed(a, site);
        return hash;
    }

    /** Records that a call has read an array. */
    private static void hashed(int[] a, int site) {
        if (a != null) {
            before(a, a.length, site);
            copied(a, a.length, null, site);
        }
    }

    public static int[] copyOf(int[] a, int n, int site) {
        before(a, a.length, site);
        return copied(a, Math.min(n, a.length), Arrays.copyOf(a, n), site);
    }

    public static long[] copyOf(long[] a, int n, int site) {
        before(a, a.length, site);
        return copied(a, Math.min(n, a.length), Arrays.copyOf(a, n), site);
    }

    public static double[] copyOf(double[] a, int n, int site) {
        before(a, a.length, site);
        return copied(a, Math.min(n, a.length), Arrays.copyOf(a, n), site);
    }

    public static String toString(int[] a, int site) {
        before(a, a == null ? 0 : a.length, site);
        return a == null ? "null" : copied(a, a.length, Arrays.toString(a), site);
    }

    public static String toString(long[] a, int site) {
        before(a, a == null ? 0 : a.length, site);
        return a == null ? "null" : copied(a, a.length, Arrays.toString(a), site);
    }

    public static String toString(double[] a, int site) {
        before(a, a == null ? 0 : a.length, site);
        return a == null ? "null" : copied(a, a.length, Arrays.toString(a), site);
    }
}
