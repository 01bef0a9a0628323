import java.util.concurrent.*;
/** Threads run one after the other, in this order, and no thread uses the result of a put. */
public class Puts {
    @interface Atomic { }
    static final ConcurrentMap<String, Integer> map = new ConcurrentHashMap<>();
    static int q;
    /** Before this one goes on, the other has been started and waits. */
    static void chain(Runnable first, Runnable... others) throws InterruptedException {
        Thread next = null;
        if (others.length > 0) {
            next = new Thread(() -> {
                try {
                    chain(others[0], java.util.Arrays.copyOfRange(others, 1, others.length));
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            });
            next.start();
        }
        first.run();
        if (next != null) {
            next.join();
        }
    }
    @Atomic static void act() {
        if (map.get("a") == null) {
            map.put("a", 1);
        }
    }
    public static void main(String[] args) throws InterruptedException {
        Runnable puts = () -> map.put("b", 1);
        switch (args[0]) {
            // The third writes only because of what the first has put.
            case "look": chain(() -> { q = 1; map.put("a", 1); }, puts, () -> { if (map.get("a") != null) q = 2; }); break;
            case "act": chain(() -> act(), () -> map.put("a", 2)); break;
            default: throw new IllegalArgumentException(args[0]);
        }
    }
}
