import java.util.*;
import java.util.stream.*;

/** Correct uses of collections and string builders by two threads. */
public class Guarded extends Scenarios {
    public static void main(String[] names) throws Exception {
        run(Guarded.class, names);
    }

    static void otherElements() throws Exception {
        List<Integer> list = new ArrayList<>(Arrays.asList(1, 2, 3));
        both(() -> list.set(0, 7), () -> list.set(1, 8));
        sink(list.get(0) + list.get(1));
    }

    static void manyOtherElements() throws Exception {
        List<Integer> list = new ArrayList<>(Collections.nCopies(100, 0));
        both(() -> {
            for (int i = 0; i < 50; i++) {
                list.set(i, i);
            }
        }, () -> {
            for (int i = 50; i < 100; i++) {
                list.set(i, i);
            }
        });
        int sum = 0;
        for (int i : list) {
            sum += i;
        }
        sink(sum);
    }

    static void otherEntries() throws Exception {
        Map<String, Integer> map = new HashMap<>();
        map.put("a", 0);
        map.put("b", 0);
        both(() -> map.put("a", 1), () -> map.put("b", 2));
        sink(map.get("a") + map.get("b"));
    }

    static void presentElements() throws Exception {
        Set<String> set = new HashSet<>(Arrays.asList("a", "b"));
        both(() -> set.add("a"), () -> set.contains("b"));
    }

    static void emptyQueue() throws Exception {
        Queue<Integer> queue = new ArrayDeque<>();
        both(() -> queue.poll(), () -> queue.poll());
    }

    static void readersOnly() throws Exception {
        Map<String, List<Integer>> map = new TreeMap<>();
        map.put("a", new ArrayList<>(Arrays.asList(1, 2)));
        Body read = () -> {
            int sum = 0;
            for (Map.Entry<String, List<Integer>> e : map.entrySet()) {
                for (int i : e.getValue()) {
                    sum += i;
                }
            }
            sink(sum + map.toString().length());
        };
        both(read, read);
    }

    static void otherLists() throws Exception {
        Map<Boolean, List<Integer>> map = Stream.of(1, 2, 3, 4)
            .collect(Collectors.groupingBy(i -> i % 2 == 0, Collectors.toCollection(ArrayList::new)));
        both(() -> map.get(true).add(6), () -> map.get(false).add(5));
    }

    static void storedBuilders() throws Exception {
        List<StringBuilder> list = new ArrayList<>();
        StringBuilder text = new StringBuilder();
        both(() -> {
            synchronized (list) {
                list.add(text);
            }
        }, () -> text.append("x"));
    }

    static void twoListsTwoLocks() throws Exception {
        List<Integer> a = new ArrayList<>();
        List<Integer> b = new ArrayList<>();
        List<List<Integer>> all = Arrays.asList(a, b);
        both(() -> {
            synchronized (a) {
                a.add(1);
            }
            synchronized (b) {
                b.add(1);
            }
        }, () -> {
            synchronized (b) {
                b.add(2);
            }
            synchronized (a) {
                a.add(2);
            }
        });
        sink(all.size());
    }

    static void swappedUnderLock() throws Exception {
        List<int[]> list = new ArrayList<>();
        list.add(new int[1]);
        list.add(new int[1]);
        both(() -> {
            synchronized (list) {
                list.set(0, new int[] {1});
                list.add(0, new int[] {2});
            }
        }, () -> {
            int[] got;
            synchronized (list) {
                got = list.get(1);
                list.set(1, new int[1]);
            }
            got[0]++;
        });
    }

    static void copyOnWrite() throws Exception {
        class Holder {
            volatile Map<String, Integer> map = new HashMap<>();
        }
        Holder holder = new Holder();
        both(() -> {
            Map<String, Integer> copy = new HashMap<>(holder.map);
            copy.put("a", 1);
            holder.map = copy;
        }, () -> sink(holder.map.getOrDefault("a", 0)));
    }

    static void streamedUnderLock() throws Exception {
        List<int[]> list = new ArrayList<>();
        both(() -> {
            int[] box = {1};
            synchronized (list) {
                list.add(box);
            }
        }, () -> {
            Optional<int[]> first;
            synchronized (list) {
                first = list.stream().findFirst();
            }
            if (first.isPresent()) {
                first.get()[0]++;
            }
        });
    }

    static void iteratedUnderLock() throws Exception {
        Map<String, int[]> map = new LinkedHashMap<>();
        both(() -> {
            int[] box = {1};
            synchronized (map) {
                map.put("a", box);
            }
        }, () -> {
            List<int[]> taken = new ArrayList<>();
            synchronized (map) {
                for (Iterator<int[]> it = map.values().iterator(); it.hasNext();) {
                    taken.add(it.next());
                    it.remove();
                }
            }
            for (int[] box : taken) {
                box[0]++;
            }
        });
    }

    static void builderUnderLock() throws Exception {
        StringBuilder text = new StringBuilder();
        Object lock = new Object();
        Body append = () -> {
            synchronized (lock) {
                text.append("x").append(1);
            }
        };
        both(append, append);
        sink(text.length());
    }

    static void wrappedVector() throws Exception {
        Vector<Integer> vector = new Vector<>();
        List<Integer> view = Collections.unmodifiableList(vector);
        both(() -> vector.add(1), () -> sink(view.size()));
    }

    static void vectors() throws Exception {
        Vector<int[]> vector = new Vector<>();
        Body use = () -> {
            vector.add(new int[] {1});
            synchronized (vector) {
                if (vector.size() > 1) {
                    vector.remove(0)[0]++;
                }
            }
        };
        both(use, use);
    }

    static void synchronizedWrappers() throws Exception {
        Map<String, int[]> map = Collections.synchronizedMap(new HashMap<>());
        List<Integer> list = Collections.synchronizedList(new ArrayList<>());
        both(() -> {
            map.put("a", new int[] {1});
            list.add(1);
        }, () -> {
            int[] box = map.remove("a");
            if (box != null) {
                box[0]++;
            }
            synchronized (list) {
                for (int i : list) {
                    sink(i);
                }
            }
            sink(map.keySet().size() + new ArrayList<>(list).size());
        });
    }

    static void functionUnderMonitor() throws Exception {
        Map<String, Integer> map = Collections.synchronizedMap(new HashMap<>());
        int[] calls = new int[1];
        Body use = () -> map.computeIfAbsent("a", k -> ++calls[0]);
        both(use, use);
    }

    static void stringBuffers() throws Exception {
        StringBuffer text = new StringBuffer();
        Hashtable<Integer, Integer> table = new Hashtable<>();
        Body use = () -> {
            text.append("x");
            table.put(1, text.length());
        };
        both(use, use);
        sink(table.get(1) + text.toString().length());
    }

    static void otherRanges() throws Exception {
        int[] from = {1, 2, 3, 4};
        int[] to = new int[4];
        both(() -> System.arraycopy(from, 0, to, 0, 2), () -> System.arraycopy(from, 2, to, 2, 2));
        sink(Arrays.toString(to).length() + Arrays.copyOf(to, 8)[3]);
    }

    static void arrayUnderLock() throws Exception {
        int[][] rows = {{1}, {2}, {3}};
        int[] keys = {3, 1, 2};
        Body use = () -> {
            int[] row;
            synchronized (rows) {
                System.arraycopy(rows, 1, rows, 0, 2);
                Arrays.sort(keys);
                row = rows[2];
                rows[2] = new int[1];
            }
            row[0]++;
        };
        both(use, use);
    }

    static void largeArrays() throws Exception {
        int[] from = new int[1000];
        int[] to = new int[1000];
        both(() -> {
            synchronized (to) {
                System.arraycopy(from, 0, to, 0, 1000);
            }
        }, () -> {
            synchronized (to) {
                Arrays.fill(to, 1);
                to[5]++;
            }
        });
    }

    static void clonedFormat() throws Exception {
        java.text.SimpleDateFormat shared = new java.text.SimpleDateFormat("yyyy");
        Body use = () -> sink(((java.text.DateFormat) shared.clone()).format(new Date(0)).length());
        both(use, use);
    }
}
