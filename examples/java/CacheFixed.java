import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/** {@link Cache} with the lookup and the put as one operation of the map. */
public class CacheFixed {
    @interface Atomic {
    }

    private static final ConcurrentHashMap<String, Integer> MAP = new ConcurrentHashMap<>();
    private static final ReentrantLock COUNT = new ReentrantLock();
    private static int made;

    @Atomic
    static void get(String key) {
        MAP.computeIfAbsent(key, k -> {
            COUNT.lock();
            try {
                made++;
            } finally {
                COUNT.unlock();
            }
            return 1;
        });
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
