import java.util.*;
import java.util.function.*;

/** Collections and string builders that two threads use without a lock: each scenario races. */
public class Racy extends Scenarios {
    public static void main(String[] names) throws Exception {
        run(Racy.class, names);
    }

    static void arrayListAdd() throws Exception {
        List<Integer> list = new ArrayList<>();
        both(() -> list.add(1), () -> list.add(2));
    }

    static void arrayListGetWhileAdd() throws Exception {
        List<Integer> list = new ArrayList<>();
        list.add(0);
        both(() -> list.add(1), () -> list.get(0));
    }

    static void arrayListSetSame() throws Exception {
        ArrayList<Integer> list = new ArrayList<>(Arrays.asList(1, 2, 3));
        both(() -> list.set(1, 7), () -> list.get(1));
    }

    static void arrayListIteration() throws Exception {
        List<Integer> list = new ArrayList<>(Arrays.asList(1, 2, 3));
        both(() -> {
            int sum = 0;
            for (int i : list) {
                sum += i;
            }
            sink(sum);
        }, () -> list.add(4));
    }

    static void linkedListPoll() throws Exception {
        LinkedList<Integer> list = new LinkedList<>(Arrays.asList(1, 2, 3));
        both(() -> list.poll(), () -> list.addLast(4));
    }

    static void arrayDequePush() throws Exception {
        Deque<Integer> deque = new ArrayDeque<>();
        both(() -> deque.push(1), () -> deque.push(2));
    }

    static void priorityQueueOffer() throws Exception {
        Queue<Integer> queue = new PriorityQueue<>();
        both(() -> queue.offer(1), () -> queue.offer(2));
    }

    static void hashMapPutOtherKeys() throws Exception {
        Map<String, Integer> map = new HashMap<>();
        both(() -> map.put("a", 1), () -> map.put("b", 2));
    }

    static void hashMapPutSameKey() throws Exception {
        Map<String, Integer> map = new HashMap<>();
        map.put("a", 0);
        both(() -> map.put("a", 1), () -> map.get("a"));
    }

    static void hashMapMerge() throws Exception {
        Map<String, Integer> map = new HashMap<>();
        both(() -> map.merge("a", 1, Integer::sum), () -> map.merge("a", 1, Integer::sum));
    }

    static void hashMapIteration() throws Exception {
        Map<Integer, Integer> map = new HashMap<>();
        map.put(1, 1);
        both(() -> {
            int sum = 0;
            for (Map.Entry<Integer, Integer> e : map.entrySet()) {
                sum += e.getKey() + e.getValue();
            }
            sink(sum);
        }, () -> map.remove(1));
    }

    static void linkedHashMapInAccessOrder() throws Exception {
        Map<Integer, Integer> cache = new LinkedHashMap<>(16, 0.75f, true);
        cache.put(1, 1);
        cache.put(2, 2);
        both(() -> cache.get(1), () -> cache.get(2));
    }

    static void treeMapPut() throws Exception {
        TreeMap<Integer, Integer> map = new TreeMap<>();
        both(() -> map.put(1, 1), () -> map.firstEntry());
    }

    static void hashSetAdd() throws Exception {
        Set<String> set = new HashSet<>();
        both(() -> set.add("a"), () -> set.contains("a"));
    }

    static void treeSetRemove() throws Exception {
        Set<Integer> set = new TreeSet<>(Arrays.asList(1, 2));
        both(() -> set.remove(1), () -> set.size());
    }

    static void enumMapPut() throws Exception {
        Map<Thread.State, Integer> map = new EnumMap<>(Thread.State.class);
        both(() -> map.put(Thread.State.NEW, 1), () -> map.get(Thread.State.NEW));
    }

    static void bitSetSet() throws Exception {
        BitSet bits = new BitSet();
        both(() -> bits.set(1), () -> bits.set(2));
    }

    static void stringBuilderAppend() throws Exception {
        StringBuilder text = new StringBuilder();
        both(() -> text.append("a"), () -> text.append("b"));
    }

    static void stringBuilderToString() throws Exception {
        StringBuilder text = new StringBuilder();
        both(() -> text.append("a"), () -> sink(text.toString().length()));
    }

    static void sharedIterator() throws Exception {
        Iterator<Integer> it = new ArrayList<>(Arrays.asList(1, 2, 3)).iterator();
        both(() -> it.next(), () -> it.next());
    }

    static void unmodifiableView() throws Exception {
        List<Integer> list = new ArrayList<>();
        List<Integer> view = Collections.unmodifiableList(list);
        both(() -> list.add(1), () -> view.size());
    }

    static void subListView() throws Exception {
        List<Integer> list = new ArrayList<>(Arrays.asList(1, 2, 3));
        both(() -> list.subList(0, 1).clear(), () -> list.get(0));
    }

    static void valuesView() throws Exception {
        Map<Integer, Integer> map = new HashMap<>();
        both(() -> map.put(1, 1), () -> map.values().contains(1));
    }

    static void sortWhileRead() throws Exception {
        List<Integer> list = new ArrayList<>(Arrays.asList(3, 2, 1));
        both(() -> Collections.sort(list), () -> list.get(0));
    }

    static void copyWhileAdd() throws Exception {
        List<Integer> list = new ArrayList<>();
        both(() -> list.add(1), () -> sink(new ArrayList<>(list).size()));
    }

    static void printedWhileAdd() throws Exception {
        List<Integer> list = new ArrayList<>();
        both(() -> list.add(1), () -> sink(("" + list).length()));
    }

    static void wrongLocks() throws Exception {
        List<Integer> list = new ArrayList<>();
        Object a = new Object();
        Object b = new Object();
        both(() -> {
            synchronized (a) {
                list.add(1);
            }
        }, () -> {
            synchronized (b) {
                list.add(2);
            }
        });
    }

    static void methodReference() throws Exception {
        List<Integer> list = new ArrayList<>();
        Consumer<Integer> add = list::add;
        both(() -> add.accept(1), () -> add.accept(2));
    }

    static void subclass() throws Exception {
        class Log extends ArrayList<String> {
        }
        Log log = new Log();
        both(() -> log.add("a"), () -> log.add("b"));
    }

    static void ownKeys() throws Exception {
        class Key {
            final int n;

            Key(int n) {
                this.n = n;
            }

            @Override
            public boolean equals(Object o) {
                return o instanceof Key && ((Key) o).n == n;
            }

            @Override
            public int hashCode() {
                return n;
            }
        }
        Map<Key, Integer> map = new HashMap<>();
        both(() -> map.put(new Key(1), 1), () -> map.put(new Key(1), 2));
    }

    static void forEachWhileAdd() throws Exception {
        List<Integer> list = new ArrayList<>(Arrays.asList(1, 2));
        both(() -> list.forEach(i -> sink(i)), () -> list.add(3));
    }

    static void streamedAfterwards() throws Exception {
        List<Integer> list = new ArrayList<>();
        both(() -> list.add(1), () -> list.add(2));
        sink((int) list.stream().filter(i -> i != null).count());
    }

    static void yieldingFunction() throws Exception {
        Map<Integer, List<Integer>> map = new HashMap<>();
        both(() -> map.computeIfAbsent(1, k -> new ArrayList<>()).add(1),
            () -> map.computeIfAbsent(2, k -> new ArrayList<>()).add(2));
    }

    static void synchronizedListIteration() throws Exception {
        List<Integer> list = Collections.synchronizedList(new ArrayList<>(Arrays.asList(1, 2)));
        both(() -> {
            int sum = 0;
            for (int i : list) {
                sum += i;
            }
            sink(sum);
        }, () -> list.add(3));
    }

    static void behindTheWrapper() throws Exception {
        List<Integer> list = new ArrayList<>();
        List<Integer> safe = Collections.synchronizedList(list);
        both(() -> safe.add(1), () -> list.add(2));
    }

    static void dateFormat() throws Exception {
        java.text.SimpleDateFormat format = new java.text.SimpleDateFormat("yyyy");
        both(() -> format.format(new Date(0)), () -> format.format(new Date(1)));
    }

    static void arrayCopy() throws Exception {
        int[] from = new int[4];
        int[] to = new int[4];
        both(() -> System.arraycopy(from, 0, to, 0, 4), () -> {
            to[2] = 1;
        });
    }

    static void filledArray() throws Exception {
        int[] array = new int[4];
        both(() -> Arrays.fill(array, 7), () -> sink(array[3]));
    }

    static void sortedArray() throws Exception {
        int[] array = {3, 2, 1};
        both(() -> Arrays.sort(array), () -> {
            array[1] = 5;
        });
    }
}
