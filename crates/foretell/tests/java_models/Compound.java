import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Operations that are atomic each, but not together: in another interleaving a thread ends with an
 * exception.
 */
public class Compound extends Scenarios {
    public static void main(String[] names) throws Exception {
        run(Compound.class, names);
    }

    /** Runs a body in two threads, which do not catch its exceptions. */
    static void twice(Runnable body) throws Exception {
        Thread a = new Thread(body);
        Thread b = new Thread(body);
        a.start();
        b.start();
        a.join();
        b.join();
    }

    static void vector() throws Exception {
        Vector<Integer> vector = new Vector<>(Arrays.asList(1));
        twice(() -> {
            if (!vector.isEmpty()) {
                vector.remove(0);
            }
        });
    }

    static void synchronizedMap() throws Exception {
        Map<String, Integer> map = Collections.synchronizedMap(new HashMap<>());
        map.put("a", 1);
        twice(() -> {
            if (map.containsKey("a")) {
                sink(map.remove("a"));
            }
        });
    }

    static void linkedQueue() throws Exception {
        Queue<Integer> queue = new ConcurrentLinkedQueue<>(Arrays.asList(1));
        twice(() -> {
            if (!queue.isEmpty()) {
                sink(queue.poll());
            }
        });
    }

    static void copyOnWriteList() throws Exception {
        List<Integer> list = new CopyOnWriteArrayList<>(Arrays.asList(1));
        twice(() -> {
            if (list.size() > 0) {
                list.remove(0);
            }
        });
    }

    static void concurrentMap() throws Exception {
        Map<String, Integer> map = new ConcurrentHashMap<>();
        map.put("a", 1);
        twice(() -> {
            if (map.containsKey("a")) {
                sink(map.remove("a"));
            }
        });
    }

    static void atomicInteger() throws Exception {
        AtomicInteger left = new AtomicInteger(1);
        twice(() -> {
            if (left.get() > 0 && left.decrementAndGet() < 0) {
                throw new IllegalStateException("overdrawn");
            }
        });
    }

    static void blockingDeque() throws Exception {
        LinkedBlockingDeque<Integer> deque = new LinkedBlockingDeque<>(Arrays.asList(1));
        twice(() -> {
            if (deque.peekLast() != null) {
                sink(deque.removeFirst());
            }
        });
    }

    static void boundedQueue() throws Exception {
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(1);
        twice(() -> {
            if (queue.remainingCapacity() > 0) {
                queue.add(1);
            }
        });
    }
}
