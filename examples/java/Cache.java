import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/** Each map operation is atomic, a lookup with a put is not: an entry may be computed twice. */
public class Cache {
    @interface Atomic {
    }

    private static final ConcurrentHashMap<String, Integer> MAP = new ConcurrentHashMap<>();
    private static final ReentrantLock COUNT = new ReentrantLock();
    private static int made;

    @Atomic
    static void get(String key) {
        if (!MAP.containsKey(key)) {
            COUNT.lock();
            try {
                made++;
            } finally {
                COUNT.unlock();
            }
            MAP.put(key, 1);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> get("x"));
        Thread b = new Thread(() -> MAP.put("x", 2));
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println(MAP.get("x") + made > 1 ? "made" : "lost");
    }
}
