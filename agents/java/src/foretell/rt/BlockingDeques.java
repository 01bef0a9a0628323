package foretell.rt;

import java.util.NoSuchElementException;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.TimeUnit;

/** Operations on both ends of a blocking deque, as those of {@link ConcurrentCollections}. */
public final class BlockingDeques {
    /** Replaced methods, see {@link Synchronizers#METHODS}. */
    public static final String[][] METHODS = {
        {"java.util.concurrent.LinkedBlockingDeque", "putFirst(Ljava/lang/Object;)V",
            "putLast(Ljava/lang/Object;)V", "addFirst(Ljava/lang/Object;)V",
            "addLast(Ljava/lang/Object;)V", "push(Ljava/lang/Object;)V",
            "offerFirst(Ljava/lang/Object;)Z", "offerLast(Ljava/lang/Object;)Z",
            "offerFirst(Ljava/lang/Object;JLjava/util/concurrent/TimeUnit;)Z",
            "offerLast(Ljava/lang/Object;JLjava/util/concurrent/TimeUnit;)Z",
            "takeFirst()Ljava/lang/Object;", "takeLast()Ljava/lang/Object;",
            "pollFirst()Ljava/lang/Object;", "pollLast()Ljava/lang/Object;",
            "pollFirst(JLjava/util/concurrent/TimeUnit;)Ljava/lang/Object;",
            "pollLast(JLjava/util/concurrent/TimeUnit;)Ljava/lang/Object;",
            "removeFirst()Ljava/lang/Object;", "removeLast()Ljava/lang/Object;",
            "pop()Ljava/lang/Object;", "peekFirst()Ljava/lang/Object;",
            "peekLast()Ljava/lang/Object;", "getFirst()Ljava/lang/Object;",
            "getLast()Ljava/lang/Object;"},
    };

    private BlockingDeques() {
    }

    public static <E> void putFirst(LinkedBlockingDeque<E> q, E e, int site)
        throws InterruptedException {
        Monitor m = ConcurrentCollections.queue(q);
        try {
            q.putFirst(e);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        ConcurrentCollections.putIn(q, m, site);
    }

    public static <E> void putLast(LinkedBlockingDeque<E> q, E e, int site)
        throws InterruptedException {
        Monitor m = ConcurrentCollections.queue(q);
        try {
            q.putLast(e);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        ConcurrentCollections.putIn(q, m, site);
    }

    public static <E> void addFirst(LinkedBlockingDeque<E> q, E e, int site) {
        Monitor m = ConcurrentCollections.queue(q);
        try {
            q.addFirst(e);
        } catch (IllegalStateException full) {
            ConcurrentCollections.attempted(q, site);
            throw Stacks.withoutRuntimeFrames(full);
        }
        ConcurrentCollections.putIn(q, m, site);
    }

    public static <E> void addLast(LinkedBlockingDeque<E> q, E e, int site) {
        Monitor m = ConcurrentCollections.queue(q);
        try {
            q.addLast(e);
        } catch (IllegalStateException full) {
            ConcurrentCollections.attempted(q, site);
            throw Stacks.withoutRuntimeFrames(full);
        }
        ConcurrentCollections.putIn(q, m, site);
    }

    public static <E> void push(LinkedBlockingDeque<E> q, E e, int site) {
        addFirst(q, e, site);
    }

    public static <E> boolean offerFirst(LinkedBlockingDeque<E> q, E e, int site) {
        Monitor m = ConcurrentCollections.queue(q);
        return ConcurrentCollections.offered(q, m, q.offerFirst(e), site);
    }

    public static <E> boolean offerFirst(LinkedBlockingDeque<E> q, E e, long time, TimeUnit unit,
                                         int site) throws InterruptedException {
        Monitor m = ConcurrentCollections.queue(q);
        boolean done;
        try {
            done = q.offerFirst(e, time, unit);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        return ConcurrentCollections.offered(q, m, done, site);
    }

    public static <E> boolean offerLast(LinkedBlockingDeque<E> q, E e, int site) {
        Monitor m = ConcurrentCollections.queue(q);
        return ConcurrentCollections.offered(q, m, q.offerLast(e), site);
    }

    public static <E> boolean offerLast(LinkedBlockingDeque<E> q, E e, long time, TimeUnit unit,
                                         int site) throws InterruptedException {
        Monitor m = ConcurrentCollections.queue(q);
        boolean done;
        try {
            done = q.offerLast(e, time, unit);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        return ConcurrentCollections.offered(q, m, done, site);
    }

    public static <E> E takeFirst(LinkedBlockingDeque<E> q, int site) throws InterruptedException {
        Monitor m = ConcurrentCollections.queue(q);
        E e;
        try {
            e = q.takeFirst();
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        ConcurrentCollections.taken(q, m, site);
        return e;
    }

    public static <E> E pollFirst(LinkedBlockingDeque<E> q, int site) {
        Monitor m = ConcurrentCollections.queue(q);
        return ConcurrentCollections.polled(q, m, q.pollFirst(), site);
    }

    public static <E> E pollFirst(LinkedBlockingDeque<E> q, long time, TimeUnit unit, int site)
        throws InterruptedException {
        Monitor m = ConcurrentCollections.queue(q);
        E e;
        try {
            e = q.pollFirst(time, unit);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        return ConcurrentCollections.polled(q, m, e, site);
    }

    public static <E> E removeFirst(LinkedBlockingDeque<E> q, int site) {
        Monitor m = ConcurrentCollections.queue(q);
        try {
            return ConcurrentCollections.polled(q, m, q.removeFirst(), site);
        } catch (NoSuchElementException empty) {
            ConcurrentCollections.attempted(q, site);
            throw Stacks.withoutRuntimeFrames(empty);
        }
    }

    public static <E> E peekFirst(LinkedBlockingDeque<E> q, int site) {
        Synchronizers.recordingThread();
        return ConcurrentCollections.looked(q, q.peekFirst(), site);
    }

    public static <E> E getFirst(LinkedBlockingDeque<E> q, int site) {
        Synchronizers.recordingThread();
        try {
            return ConcurrentCollections.looked(q, q.getFirst(), site);
        } catch (NoSuchElementException empty) {
            ConcurrentCollections.looked(q, null, site);
            throw Stacks.withoutRuntimeFrames(empty);
        }
    }

    public static <E> E takeLast(LinkedBlockingDeque<E> q, int site) throws InterruptedException {
        Monitor m = ConcurrentCollections.queue(q);
        E e;
        try {
            e = q.takeLast();
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        ConcurrentCollections.taken(q, m, site);
        return e;
    }

    public static <E> E pollLast(LinkedBlockingDeque<E> q, int site) {
        Monitor m = ConcurrentCollections.queue(q);
        return ConcurrentCollections.polled(q, m, q.pollLast(), site);
    }

    public static <E> E pollLast(LinkedBlockingDeque<E> q, long time, TimeUnit unit, int site)
        throws InterruptedException {
        Monitor m = ConcurrentCollections.queue(q);
        E e;
        try {
            e = q.pollLast(time, unit);
        } catch (InterruptedException x) {
            throw Synchronizers.interrupted(x, site);
        }
        return ConcurrentCollections.polled(q, m, e, site);
    }

    public static <E> E removeLast(LinkedBlockingDeque<E> q, int site) {
        Monitor m = ConcurrentCollections.queue(q);
        try {
            return ConcurrentCollections.polled(q, m, q.removeLast(), site);
        } catch (NoSuchElementException empty) {
            ConcurrentCollections.attempted(q, site);
            throw Stacks.withoutRuntimeFrames(empty);
        }
    }

    public static <E> E peekLast(LinkedBlockingDeque<E> q, int site) {
        Synchronizers.recordingThread();
        return ConcurrentCollections.looked(q, q.peekLast(), site);
    }

    public static <E> E getLast(LinkedBlockingDeque<E> q, int site) {
        Synchronizers.recordingThread();
        try {
            return ConcurrentCollections.looked(q, q.getLast(), site);
        } catch (NoSuchElementException empty) {
            ConcurrentCollections.looked(q, null, site);
            throw Stacks.withoutRuntimeFrames(empty);
        }
    }

    public static <E> E pop(LinkedBlockingDeque<E> q, int site) {
        return removeFirst(q, site);
    }
}
