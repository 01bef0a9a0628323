import java.util.concurrent.ConcurrentHashMap;

/** Check-then-act on a map: both threads may find the key missing. */
class MapCheckThenAct {
    static final ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();

    static void add() {
        if (!map.containsKey("key")) {
            map.put("key", 1);
        } else {
            map.put("key", 2);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(MapCheckThenAct::add);
        Thread b = new Thread(MapCheckThenAct::add);
        a.start();
        b.start();
        a.join();
        b.join();
        if (map.get("key") != 2) {
            throw new AssertionError("both threads found the key missing");
        }
    }
}
