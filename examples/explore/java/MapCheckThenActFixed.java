import java.util.concurrent.ConcurrentHashMap;

/** One call that tests and changes the map. */
class MapCheckThenActFixed {
    static final ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();

    static void add() {
        if (map.putIfAbsent("key", 1) != null) {
            map.put("key", 2);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(MapCheckThenActFixed::add);
        Thread b = new Thread(MapCheckThenActFixed::add);
        a.start();
        b.start();
        a.join();
        b.join();
        if (map.get("key") != 2) {
            throw new AssertionError("both threads found the key missing");
        }
    }
}
