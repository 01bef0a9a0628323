package foretell.rt;

import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * Replacements for the methods of concurrent maps and blocking queues, as objects with atomic
 * operations. The trace has a variable for the version of a collection:
 *
 * <pre>
 * operation                          access of the version
 * changes the collection             update
 * reads it                           read
 * would have changed another state   failed update
 * </pre>
 *
 * So all operations on a collection keep their order, and each sees in every feasible interleaving
 * what it saw. A take from a queue comes after the put that it waited for, a put into a bounded
 * queue after the take that made room.
 */
public final class ConcurrentCollections {
    /** Replaced methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] METHODS = {
        {"java.util.concurrent.ConcurrentMap", "get(Ljava/lang/Object;)Ljava/lang/Object;",
            "getOrDefault(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
            "containsKey(Ljava/lang/Object;)Z", "size()I", "isEmpty()Z", "clear()V",
            "put(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
            "putIfAbsent(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
            "remove(Ljava/lang/Object;)Ljava/lang/Object;",
            "remove(Ljava/lang/Object;Ljava/lang/Object;)Z",
            "replace(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;",
            "replace(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;)Z",
            "putAll(Ljava/util/Map;)V",
            "computeIfAbsent(Ljava/lang/Object;Ljava/util/function/Function;)Ljava/lang/Object;",
            "computeIfPresent(Ljava/lang/Object;Ljava/util/function/BiFunction;)Ljava/lang/Object;",
            "compute(Ljava/lang/Object;Ljava/util/function/BiFunction;)Ljava/lang/Object;",
            "merge(Ljava/lang/Object;Ljava/lang/Object;Ljava/util/function/BiFunction;)Ljava/lang/Object;"},
        {"java.util.concurrent.BlockingQueue", "put(Ljava/lang/Object;)V",
            "add(Ljava/lang/Object;)Z",
            "offer(Ljava/lang/Object;)Z", "offer(Ljava/lang/Object;JLjava/util/concurrent/TimeUnit;)Z",
            "take()Ljava/lang/Object;", "poll()Ljava/lang/Object;",
            "poll(JLjava/util/concurrent/TimeUnit;)Ljava/lang/Object;",
            "remove()Ljava/lang/Object;",
            "peek()Ljava/lang/Object;", "size()I", "isEmpty()Z"},
    };

    private ConcurrentCollections() {
    }

    /**
     * Records an operation with the semaphores that it takes and gives, 0 for none. A write changes
     * the collection without a read.
     */
    private static void operation(Object o, int down, int effect, int post, int site) {
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        Monitor m = ObjectIds.monitor(o);
        int id = ObjectIds.of(o);
        long old = m.version;
        if (effect == Effect.WRITE || effect == Effect.UPDATE) {
            m.version++;
        }
        if (Log.on && id > 0) {
            int tag = effect == Effect.FAILED_UPDATE ? Log.OPERATION_ATTEMPT : Log.OPERATION;
            Log.operation(t, tag, site, down, id, effect == Effect.WRITE ? m.version + 1 : old,
                m.version, post);
        }
        Hooks.step(t, Kind.ATOMIC, site);
    }

    private static <T> T looked(Object o, T result, int site) {
        operation(o, 0, Effect.READ, 0, site);
        return result;
    }

    /** Records an operation that would have changed a different state. */
    private static <T> T attempted(Object o, T result, int site) {
        operation(o, 0, Effect.FAILED_UPDATE, 0, site);
        return result;
    }

    // Maps. A hash map calls a function with a part of itself locked: no other change comes
    // between.

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

    private static <T> T changed(Object map, T result, int site) {
        int mutex = mutex(map);
        operation(map, mutex, Effect.UPDATE, mutex, site);
        return result;
    }

    /** Takes the semaphore before a change by a function. */
    private static int begin(Object map, int site) {
        int mutex = mutex(map);
        ThreadState t = mutex == 0 || !Log.on ? null : Synchronizers.recordingThread();
        if (t != null) {
            Log.event(t, Log.ORDER_DOWN, site, mutex);
        }
        return mutex;
    }

    private static <T> T end(Object map, int mutex, T result, int site) {
        operation(map, 0, Effect.UPDATE, mutex, site);
        return result;
    }

    /** Gives the semaphore back after the function has thrown: nothing was changed. */
    private static void abandon(int mutex, int site) {
        ThreadState t = mutex == 0 || !Log.on ? null : Synchronizers.recordingThread();
        if (t != null) {
            Log.event(t, Log.ORDER_POST, site, mutex);
        }
    }

    public static <K, V> V get(ConcurrentMap<K, V> m, Object key, int site) {
        return looked(m, m.get(key), site);
    }

    public static <K, V> V getOrDefault(ConcurrentMap<K, V> m, Object key, V other, int site) {
        return looked(m, m.getOrDefault(key, other), site);
    }

    public static <K, V> boolean containsKey(ConcurrentMap<K, V> m, Object key, int site) {
        return looked(m, m.containsKey(key), site);
    }

    public static <K, V> int size(ConcurrentMap<K, V> m, int site) {
        return looked(m, m.size(), site);
    }

    public static <K, V> boolean isEmpty(ConcurrentMap<K, V> m, int site) {
        return looked(m, m.isEmpty(), site);
    }

    public static <K, V> void clear(ConcurrentMap<K, V> m, int site) {
        m.clear();
        changed(m, null, site);
    }

    public static <K, V> V put(ConcurrentMap<K, V> m, K key, V value, int site) {
        return changed(m, m.put(key, value), site);
    }

    /** Put whose result the program drops, as the rewriter has found. */
    public static <K, V> V blindPut(ConcurrentMap<K, V> m, K key, V value, int site) {
        V old = m.put(key, value);
        int mutex = mutex(m);
        operation(m, mutex, Effect.WRITE, mutex, site);
        return old;
    }

    public static <K, V> V putIfAbsent(ConcurrentMap<K, V> m, K key, V value, int site) {
        V old = m.putIfAbsent(key, value);
        return old == null ? changed(m, old, site) : attempted(m, old, site);
    }

    public static <K, V> V remove(ConcurrentMap<K, V> m, Object key, int site) {
        V old = m.remove(key);
        return old != null ? changed(m, old, site) : attempted(m, old, site);
    }

    public static <K, V> boolean remove(ConcurrentMap<K, V> m, Object key, Object value, int site) {
        boolean done = m.remove(key, value);
        return done ? changed(m, done, site) : attempted(m, done, site);
    }

    public static <K, V> V replace(ConcurrentMap<K, V> m, K key, V value, int site) {
        V old = m.replace(key, value);
        return old != null ? changed(m, old, site) : attempted(m, old, site);
    }

    public static <K, V> boolean replace(ConcurrentMap<K, V> m, K key, V old, V value, int site) {
        boolean done = m.replace(key, old, value);
        return done ? changed(m, done, site) : attempted(m, done, site);
    }

    public static <K, V> void putAll(ConcurrentMap<K, V> m, Map<? extends K, ? extends V> from,
                                     int site) {
        m.putAll(from);
        changed(m, null, site);
    }

    public static <K, V> V computeIfAbsent(ConcurrentMap<K, V> m, K key, Function<? super K, ? extends V> f,
                                           int site) {
        if (m.containsKey(key)) {
            return attempted(m, m.computeIfAbsent(key, f), site);
        }
        int mutex = begin(m, site);
        boolean done = false;
        try {
            V value = m.computeIfAbsent(key, f);
            done = true;
            return end(m, mutex, value, site);
        } finally {
            if (!done) {
                abandon(mutex, site);
            }
        }
    }

    public static <K, V> V computeIfPresent(ConcurrentMap<K, V> m, K key,
                                            BiFunction<? super K, ? super V, ? extends V> f,
                                                int site) {
        int mutex = begin(m, site);
        boolean done = false;
        try {
            V result = m.computeIfPresent(key, f);
            done = true;
            return end(m, mutex, result, site);
        } finally {
            if (!done) {
                abandon(mutex, site);
            }
        }
    }

    public static <K, V> V compute(ConcurrentMap<K, V> m, K key, BiFunction<? super K, ? super V, ? extends V> f,
                                   int site) {
        int mutex = begin(m, site);
        boolean done = false;
        try {
            V result = m.compute(key, f);
            done = true;
            return end(m, mutex, result, site);
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
            return end(m, mutex, result, site);
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
    private static Monitor queue(BlockingQueue<?> q) {
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

    private static void putIn(BlockingQueue<?> q, Monitor m, int site) {
        if (m != null) {
            operation(q, Math.max(0, m.spaceSemaphore), Effect.UPDATE, m.itemSemaphore, site);
        }
    }

    private static void taken(BlockingQueue<?> q, Monitor m, int site) {
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
            attempted(q, null, site);
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

    private static boolean offered(BlockingQueue<?> q, Monitor m, boolean done, int site) {
        if (done) {
            putIn(q, m, site);
        } else {
            attempted(q, null, site);
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

    private static <E> E polled(BlockingQueue<E> q, Monitor m, E e, int site) {
        if (e != null) {
            taken(q, m, site);
        } else {
            attempted(q, null, site);
        }
        return e;
    }

    public static <E> E remove(BlockingQueue<E> q, int site) {
        Monitor m = queue(q);
        try {
            return polled(q, m, q.remove(), site);
        } catch (NoSuchElementException empty) {
            attempted(q, null, site);
            throw Stacks.withoutRuntimeFrames(empty);
        }
    }

    public static <E> E peek(BlockingQueue<E> q, int site) {
        return looked(q, q.peek(), site);
    }

    public static <E> int size(BlockingQueue<E> q, int site) {
        return looked(q, q.size(), site);
    }

    public static <E> boolean isEmpty(BlockingQueue<E> q, int site) {
        return looked(q, q.isEmpty(), site);
    }
}
