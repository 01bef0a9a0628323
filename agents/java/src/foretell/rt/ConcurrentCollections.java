package foretell.rt;

import java.util.NoSuchElementException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Replacements for the methods of concurrent maps and blocking queues, as objects with atomic
 * operations. The trace has a variable for the version of a queue, and of each key of a map:
 *
 * <pre>
 * operation                          access of the version
 * changes the queue or the entry     update
 * reads it                           read
 * would have changed another state   failed update
 * </pre>
 *
 * So all operations on a queue, and on a key, keep their order, and each sees in every feasible
 * interleaving what it saw. A take from a queue comes after the put that it waited for, a put into
 * a bounded queue after the take that made room. A look at a whole map follows the same changes in
 * every interleaving. The rest of the methods, and those of other classes, use hidden state.
 */
public final class ConcurrentCollections {
    private static final String MAP = "java.util.concurrent.ConcurrentMap";
    private static final String QUEUE = "java.util.concurrent.BlockingQueue";
    private static final String[] MAP_METHODS = {
        "get(Ljava/lang/Object;)Ljava/lang/Object;",
        "getOrDefault(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
        "containsKey(Ljava/lang/Object;)Z", "size()I", "isEmpty()Z",
        "put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
        "putIfAbsent(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
        "remove(Ljava/lang/Object;)Ljava/lang/Object;",
        "remove(Ljava/lang/Object;Ljava/lang/Object;)Z",
        "replace(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
        "replace(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;)Z",
        "computeIfAbsent(Ljava/lang/Object;Ljava/util/function/Function;)Ljava/lang/Object;",
        "computeIfPresent(Ljava/lang/Object;Ljava/util/function/BiFunction;)Ljava/lang/Object;",
        "compute(Ljava/lang/Object;Ljava/util/function/BiFunction;)Ljava/lang/Object;",
        "merge(Ljava/lang/Object;Ljava/lang/Object;Ljava/util/function/BiFunction;)Ljava/lang/Object;",
    };
    private static final String[] QUEUE_METHODS = {
        "put(Ljava/lang/Object;)V", "add(Ljava/lang/Object;)Z", "offer(Ljava/lang/Object;)Z",
        "offer(Ljava/lang/Object;JLjava/util/concurrent/TimeUnit;)Z", "take()Ljava/lang/Object;",
        "poll()Ljava/lang/Object;", "poll(JLjava/util/concurrent/TimeUnit;)Ljava/lang/Object;",
        "remove()Ljava/lang/Object;", "peek()Ljava/lang/Object;", "size()I", "isEmpty()Z",
        "element()Ljava/lang/Object;", "remove(Ljava/lang/Object;)Z",
        "contains(Ljava/lang/Object;)Z", "remainingCapacity()I",
    };
    /**
     * Classes that are modelled, with the type that their replacements take and the replaced
     * methods.
     */
    public static final String[][] METHODS = {
        row("java.util.concurrent.ConcurrentHashMap", MAP, MAP_METHODS),
        row("java.util.concurrent.ConcurrentSkipListMap", MAP, MAP_METHODS),
        row("java.util.concurrent.LinkedBlockingQueue", QUEUE, QUEUE_METHODS),
        row("java.util.concurrent.ArrayBlockingQueue", QUEUE, QUEUE_METHODS),
        row("java.util.concurrent.PriorityBlockingQueue", QUEUE, QUEUE_METHODS),
        row("java.util.concurrent.LinkedBlockingDeque", QUEUE, QUEUE_METHODS),
    };

    private static String[] row(String type, String parameter, String[] methods) {
        String[] row = new String[methods.length + 1];
        row[0] = type + " " + parameter;
        System.arraycopy(methods, 0, row, 1, methods.length);
        return row;
    }

    private ConcurrentCollections() {
    }

    /**
     * Records an operation with the semaphores that it takes and gives, 0 for none. A write changes
     * the queue, or the entry of a key, without a read. Key 0 is the whole collection.
     */
    private static void operation(ThreadState t, Object o, int key, int down, int effect, int post,
                                  int site) {
        Monitor m = ObjectIds.monitor(o);
        int id = ObjectIds.of(o);
        long old = m.version(key);
        long now = old;
        if (effect == Effect.WRITE || effect == Effect.UPDATE) {
            m.setVersion(key, ++now);
        }
        if (Log.on && id > 0) {
            int tag = effect == Effect.FAILED_UPDATE ? Log.OPERATION_ATTEMPT : Log.OPERATION;
            Log.operation(t, tag, site, down, id, key, effect == Effect.WRITE ? now + 1 : old,
                now, post);
        }
        Hooks.step(t, Kind.ATOMIC, site);
    }

    // Maps. A hash map calls a function with a part of itself locked: no other change comes
    // between.

    /** Records an operation on the entry of a key, which takes and gives a semaphore. */
    private static <T> T entry(ConcurrentMap<?, ?> map, Object key, T result, int effect,
                               int mutex, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t != null) {
            operation(t, map, MapKeys.of(t, map, key), mutex, effect, mutex, site);
        }
        return result;
    }

    private static <T> T looked(ConcurrentMap<?, ?> map, Object key, T result, int site) {
        return entry(map, key, result, Effect.READ, 0, site);
    }

    /** Records an operation that would have changed a different state. */
    private static <T> T attempted(ConcurrentMap<?, ?> map, Object key, T result, int site) {
        return entry(map, key, result, Effect.FAILED_UPDATE, 0, site);
    }

    private static <T> T changed(ConcurrentMap<?, ?> map, Object key, T result, int site) {
        return entry(map, key, result, Effect.UPDATE, mutex(map), site);
    }

    /** Returns the semaphore that changes of a map take; 0 if there is none. */
    private static int mutex(Object map) {
        if (!(map instanceof ConcurrentHashMap) || Synchronizers.recordingThread() == null) {
            return 0;
        }
        Monitor m = ObjectIds.monitor(map);
        if (m.itemSemaphore == 0) {
            m.itemSemaphore = Semaphores.create("change of @" + ObjectIds.of(map), 1);
        }
        return m.itemSemaphore;
    }

    /** Records a look at a whole map. */
    private static <T> T lookedAtAll(Object map, T result, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t != null) {
            if (Log.on) {
                Log.event(t, Log.LOOK_STEP, site, ObjectIds.of(map));
            }
            Hooks.step(t, Kind.ATOMIC, site);
        }
        return result;
    }

    /**
     * Begins a change by a function: takes the semaphore, and looks at the entry if the function
     * has events.
     */
    private static int begin(ConcurrentMap<?, ?> map, int site) {
        ThreadState t = Log.on ? Synchronizers.recordingThread() : null;
        if (t == null) {
            return 0;
        }
        int mutex = mutex(map);
        if (mutex != 0) {
            Log.event(t, Log.ORDER_DOWN, site, mutex);
        }
        Lookups.begin(t, map, site);
        return mutex;
    }

    private static <T> T end(ConcurrentMap<?, ?> map, Object key, int mutex, T result,
                             int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t != null) {
            Lookups.end(t);
            operation(t, map, MapKeys.of(t, map, key), 0, Effect.UPDATE, mutex, site);
        }
        return result;
    }

    /** Gives the semaphore back after the function has thrown: nothing was changed. */
    private static void abandon(int mutex, int site) {
        ThreadState t = Log.on ? Synchronizers.recordingThread() : null;
        if (t != null) {
            Lookups.end(t);
            if (mutex != 0) {
                Log.event(t, Log.ORDER_POST, site, mutex);
            }
        }
    }

    public static <K, V> V get(ConcurrentMap<K, V> m, Object key, int site) {
        return looked(m, key, m.get(key), site);
    }

    public static <K, V> V getOrDefault(ConcurrentMap<K, V> m, Object key, V other, int site) {
        return looked(m, key, m.getOrDefault(key, other), site);
    }

    public static <K, V> boolean containsKey(ConcurrentMap<K, V> m, Object key, int site) {
        return looked(m, key, m.containsKey(key), site);
    }

    public static <K, V> int size(ConcurrentMap<K, V> m, int site) {
        return lookedAtAll(m, m.size(), site);
    }

    public static <K, V> boolean isEmpty(ConcurrentMap<K, V> m, int site) {
        return lookedAtAll(m, m.isEmpty(), site);
    }

    public static <K, V> V put(ConcurrentMap<K, V> m, K key, V value, int site) {
        return changed(m, key, m.put(key, value), site);
    }

    /** Put whose result the program drops, as the rewriter has found. */
    public static <K, V> V blindPut(ConcurrentMap<K, V> m, K key, V value, int site) {
        return entry(m, key, m.put(key, value), Effect.WRITE, mutex(m), site);
    }

    public static <K, V> V putIfAbsent(ConcurrentMap<K, V> m, K key, V value, int site) {
        V old = m.putIfAbsent(key, value);
        return old == null ? changed(m, key, old, site) : attempted(m, key, old, site);
    }

    public static <K, V> V remove(ConcurrentMap<K, V> m, Object key, int site) {
        V old = m.remove(key);
        return old != null ? changed(m, key, old, site) : attempted(m, key, old, site);
    }

    public static <K, V> boolean remove(ConcurrentMap<K, V> m, Object key, Object value, int site) {
        boolean done = m.remove(key, value);
        return done ? changed(m, key, done, site) : attempted(m, key, done, site);
    }

    public static <K, V> V replace(ConcurrentMap<K, V> m, K key, V value, int site) {
        V old = m.replace(key, value);
        return old != null ? changed(m, key, old, site) : attempted(m, key, old, site);
    }

    public static <K, V> boolean replace(ConcurrentMap<K, V> m, K key, V old, V value, int site) {
        boolean done = m.replace(key, old, value);
        return done ? changed(m, key, done, site) : attempted(m, key, done, site);
    }

    public static <K, V> V computeIfAbsent(ConcurrentMap<K, V> m, K key,
                                           Function<? super K, ? extends V> f, int site) {
        if (m.containsKey(key)) {
            return attempted(m, key, m.computeIfAbsent(key, f), site);
        }
        int mutex = begin(m, site);
        boolean done = false;
        try {
            V value = m.computeIfAbsent(key, f);
            done = true;
            return end(m, key, mutex, value, site);
        } finally {
            if (!done) {
                abandon(mutex, site);
            }
        }
    }

    public static <K, V> V computeIfPresent(ConcurrentMap<K, V> m, K key,
                                            BiFunction<? super K, ? super V, ? extends V> f,
                                            int site) {
        if (!m.containsKey(key)) {
            return attempted(m, key, m.computeIfPresent(key, f), site);
        }
        int mutex = begin(m, site);
        boolean done = false;
        try {
            V result = m.computeIfPresent(key, f);
            done = true;
            return end(m, key, mutex, result, site);
        } finally {
            if (!done) {
                abandon(mutex, site);
            }
        }
    }

    public static <K, V> V compute(ConcurrentMap<K, V> m, K key,
                                   BiFunction<? super K, ? super V, ? extends V> f, int site) {
        int mutex = begin(m, site);
        boolean done = false;
        try {
            V result = m.compute(key, f);
            done = true;
            return end(m, key, mutex, result, site);
        } finally {
            if (!done) {
                abandon(mutex, site);
            }
        }
    }

    public static <K, V> V merge(ConcurrentMap<K, V> m, K key, V value,
                                 BiFunction<? super V, ? super V, ? extends V> f, int site) {
        int mutex = begin(m, site);
        boolean done = false;
        try {
            V result = m.merge(key, value, f);
            done = true;
            return end(m, key, mutex, result, site);
        } finally {
            if (!done) {
                abandon(mutex, site);
            }
        }
    }

    // Queues.

    /**
     * Returns the semaphores of a queue, created before its first operation: its items, and its
     * free room if it is bounded.
     */
    static Monitor queue(BlockingQueue<?> q) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return null;
        }
        Monitor m = ObjectIds.monitor(q);
        if (m.itemSemaphore == 0) {
            m.itemSemaphore = Semaphores.create("items of @" + ObjectIds.of(q), q.size());
            int room = q.remainingCapacity();
            boolean bounded = room != Integer.MAX_VALUE && room > 0;
            m.spaceSemaphore = bounded ? Semaphores.create("room in @" + ObjectIds.of(q), room)
                : -1;
        }
        return m;
    }

    /** Records an operation on a queue, which may have waited. */
    private static void operation(BlockingQueue<?> q, int down, int effect, int post, int site) {
        ThreadState t = Synchronizers.waitedThread();
        if (t != null) {
            operation(t, q, 0, down, effect, post, site);
        }
    }

    static <T> T looked(BlockingQueue<?> q, T result, int site) {
        operation(q, 0, Effect.READ, 0, site);
        return result;
    }

    static void attempted(BlockingQueue<?> q, int site) {
        operation(q, 0, Effect.FAILED_UPDATE, 0, site);
    }

    static void putIn(BlockingQueue<?> q, Monitor m, int site) {
        if (m != null) {
            operation(q, Math.max(0, m.spaceSemaphore), Effect.UPDATE, m.itemSemaphore, site);
        }
    }

    static void taken(BlockingQueue<?> q, Monitor m, int site) {
        if (m != null) {
            operation(q, m.itemSemaphore, Effect.UPDATE, Math.max(0, m.spaceSemaphore), site);
        }
    }

    public static <E> void put(BlockingQueue<E> q, E e, int site) throws InterruptedException {
        Monitor m = queue(q);
        try {
            q.put(e);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        putIn(q, m, site);
    }

    public static <E> boolean add(BlockingQueue<E> q, E e, int site) {
        Monitor m = queue(q);
        try {
            return offered(q, m, q.add(e), site);
        } catch (IllegalStateException full) {
            attempted(q, site);
            throw Stacks.withoutRuntimeFrames(full);
        }
    }

    public static <E> boolean offer(BlockingQueue<E> q, E e, int site) {
        Monitor m = queue(q);
        return offered(q, m, q.offer(e), site);
    }

    public static <E> boolean offer(BlockingQueue<E> q, E e, long time, TimeUnit unit, int site)
        throws InterruptedException {
        Monitor m = queue(q);
        boolean done;
        try {
            done = q.offer(e, time, unit);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        return offered(q, m, done, site);
    }

    static boolean offered(BlockingQueue<?> q, Monitor m, boolean done, int site) {
        if (done) {
            putIn(q, m, site);
        } else {
            attempted(q, site);
        }
        return done;
    }

    public static <E> E take(BlockingQueue<E> q, int site) throws InterruptedException {
        Monitor m = queue(q);
        E e;
        try {
            e = q.take();
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        taken(q, m, site);
        return e;
    }

    public static <E> E poll(BlockingQueue<E> q, int site) {
        Monitor m = queue(q);
        return polled(q, m, q.poll(), site);
    }

    public static <E> E poll(BlockingQueue<E> q, long time, TimeUnit unit, int site)
                             throws InterruptedException {
        Monitor m = queue(q);
        E e;
        try {
            e = q.poll(time, unit);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        return polled(q, m, e, site);
    }

    static <T> T polled(BlockingQueue<?> q, Monitor m, T e, int site) {
        if (e != null) {
            taken(q, m, site);
        } else {
            attempted(q, site);
        }
        return e;
    }

    public static <E> E remove(BlockingQueue<E> q, int site) {
        Monitor m = queue(q);
        try {
            return polled(q, m, q.remove(), site);
        } catch (NoSuchElementException empty) {
            attempted(q, site);
            throw Stacks.withoutRuntimeFrames(empty);
        }
    }

    public static <E> E peek(BlockingQueue<E> q, int site) {
        Synchronizers.recordingThread();
        return looked(q, q.peek(), site);
    }

    public static <E> int size(BlockingQueue<E> q, int site) {
        Synchronizers.recordingThread();
        return looked(q, q.size(), site);
    }

    public static <E> boolean isEmpty(BlockingQueue<E> q, int site) {
        Synchronizers.recordingThread();
        return looked(q, q.isEmpty(), site);
    }

    public static <E> E element(BlockingQueue<E> q, int site) {
        Synchronizers.recordingThread();
        try {
            return looked(q, q.element(), site);
        } catch (NoSuchElementException empty) {
            looked(q, null, site);
            throw Stacks.withoutRuntimeFrames(empty);
        }
    }

    public static <E> boolean remove(BlockingQueue<E> q, Object e, int site) {
        Monitor m = queue(q);
        boolean removed = q.remove(e);
        polled(q, m, removed ? q : null, site);
        return removed;
    }

    public static <E> boolean contains(BlockingQueue<E> q, Object e, int site) {
        Synchronizers.recordingThread();
        return looked(q, q.contains(e), site);
    }

    public static <E> int remainingCapacity(BlockingQueue<E> q, int site) {
        Synchronizers.recordingThread();
        return looked(q, q.remainingCapacity(), site);
    }
}
