import java.util.*;
import java.util.concurrent.locks.ReentrantLock;

/** Collections of java.util that a monitor or a lock protects. */
public class CollectionsInMonitors extends Handover {
    private CollectionsInMonitors() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("linkedList", CollectionsInMonitors::linkedList)
            .run("arrayList", CollectionsInMonitors::arrayList)
            .run("arrayDeque", CollectionsInMonitors::arrayDeque)
            .run("stack", CollectionsInMonitors::stack)
            .run("vectorInMonitor", CollectionsInMonitors::vectorInMonitor)
            .run("listTypedByInterface", CollectionsInMonitors::listTypedByInterface)
            .run("collectionTyped", CollectionsInMonitors::collectionTyped)
            .run("iterableTyped", CollectionsInMonitors::iterableTyped)
            .run("priorityQueue", CollectionsInMonitors::priorityQueue)
            .run("hashMap", CollectionsInMonitors::hashMap)
            .run("treeMap", CollectionsInMonitors::treeMap)
            .run("linkedHashMap", CollectionsInMonitors::linkedHashMap)
            .run("identityHashMap", CollectionsInMonitors::identityHashMap)
            .run("weakHashMap", CollectionsInMonitors::weakHashMap)
            .run("hashtableInMonitor", CollectionsInMonitors::hashtableInMonitor)
            .run("enumMap", CollectionsInMonitors::enumMap)
            .run("mapComputeIfAbsent", CollectionsInMonitors::mapComputeIfAbsent)
            .run("mapMerge", CollectionsInMonitors::mapMerge)
            .run("hashSet", CollectionsInMonitors::hashSet)
            .run("linkedHashSet", CollectionsInMonitors::linkedHashSet)
            .run("treeSet", CollectionsInMonitors::treeSet)
            .run("bitSetFlag", CollectionsInMonitors::bitSetFlag)
            .run("sizeOnly", CollectionsInMonitors::sizeOnly)
            .run("contains", CollectionsInMonitors::contains)
            .run("propertiesKey", CollectionsInMonitors::propertiesKey)
            .run("listInLock", CollectionsInMonitors::listInLock)
            .run("waitNotify", CollectionsInMonitors::waitNotify);
    }

    static void linkedList(boolean late) throws Exception {
        LinkedList<Box> q = new LinkedList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.poll();
            }
        }));
    }

    static void arrayList(boolean late) throws Exception {
        ArrayList<Box> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.remove(0);
            }
        }));
    }

    static void arrayDeque(boolean late) throws Exception {
        ArrayDeque<Box> q = new ArrayDeque<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.addLast(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.pollFirst();
            }
        }));
    }

    static void stack(boolean late) throws Exception {
        Stack<Box> q = new Stack<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.push(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.empty() ? null : q.pop();
            }
        }));
    }

    static void vectorInMonitor(boolean late) throws Exception {
        Vector<Box> q = new Vector<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.remove(0);
            }
        }));
    }

    static void listTypedByInterface(boolean late) throws Exception {
        List<Box> q = new LinkedList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.get(0);
            }
        }));
    }

    static void collectionTyped(boolean late) throws Exception {
        Collection<Box> q = new ArrayList<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.iterator().next();
            }
        }));
    }

    static void iterableTyped(boolean late) throws Exception {
        ArrayList<Box> l = new ArrayList<>(), q = l;
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                for (Box box : (Iterable<Box>) q) {
                    return box;
                }
                return null;
            }
        }));
    }

    static void priorityQueue(boolean late) throws Exception {
        PriorityQueue<Box> q = new PriorityQueue<>((x, y) -> 0);
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.poll();
            }
        }));
    }

    static void hashMap(boolean late) throws Exception {
        HashMap<String, Box> q = new HashMap<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put("box", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get("box");
            }
        }));
    }

    static void treeMap(boolean late) throws Exception {
        TreeMap<String, Box> q = new TreeMap<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put("box", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get("box");
            }
        }));
    }

    static void linkedHashMap(boolean late) throws Exception {
        LinkedHashMap<String, Box> q = new LinkedHashMap<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put("box", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.remove("box");
            }
        }));
    }

    static void identityHashMap(boolean late) throws Exception {
        IdentityHashMap<Object, Box> q = new IdentityHashMap<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put(Box.class, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get(Box.class);
            }
        }));
    }

    static void weakHashMap(boolean late) throws Exception {
        WeakHashMap<Object, Box> q = new WeakHashMap<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put(Box.class, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get(Box.class);
            }
        }));
    }

    static void hashtableInMonitor(boolean late) throws Exception {
        Hashtable<String, Box> q = new Hashtable<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put("box", b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get("box");
            }
        }));
    }

    static void enumMap(boolean late) throws Exception {
        EnumMap<Thread.State, Box> q = new EnumMap<>(Thread.State.class);
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.put(Thread.State.NEW, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get(Thread.State.NEW);
            }
        }));
    }

    static void mapComputeIfAbsent(boolean late) throws Exception {
        Map<String, Box> q = new HashMap<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.computeIfAbsent("box", k -> b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get("box");
            }
        }));
    }

    static void mapMerge(boolean late) throws Exception {
        Map<String, Box> q = new TreeMap<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.merge("box", b, (x, y) -> y);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.getOrDefault("box", null);
            }
        }));
    }

    static void hashSet(boolean late) throws Exception {
        HashSet<Box> q = new HashSet<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.iterator().next();
            }
        }));
    }

    static void linkedHashSet(boolean late) throws Exception {
        LinkedHashSet<Box> q = new LinkedHashSet<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.iterator().next();
            }
        }));
    }

    static void treeSet(boolean late) throws Exception {
        TreeSet<Box> q = new TreeSet<>((x, y) -> 0);
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.isEmpty() ? null : q.first();
            }
        }));
    }

    static void bitSetFlag(boolean late) throws Exception {
        BitSet q = new BitSet();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                slot[0] = b;
                q.set(3);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.get(3) ? slot[0] : null;
            }
        }));
    }

    static void sizeOnly(boolean late) throws Exception {
        ArrayList<String> q = new ArrayList<>();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            synchronized (q) {
                q.add("ready");
            }
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.size() > 0 ? box : null;
            }
        }));
    }

    static void contains(boolean late) throws Exception {
        Set<String> q = new HashSet<>();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            synchronized (q) {
                q.add("ready");
            }
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.contains("ready") ? box : null;
            }
        }));
    }

    static void propertiesKey(boolean late) throws Exception {
        Properties q = new Properties();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            synchronized (q) {
                q.setProperty("state", "ready");
            }
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (q) {
                return q.getProperty("state") != null ? box : null;
            }
        }));
    }

    static void listInLock(boolean late) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        List<Box> q = new LinkedList<>();
        both(() -> {
            Box b = Box.full();
            lock.lock();
            try {
                q.add(b);
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.lock();
            try {
                return q.isEmpty() ? null : q.remove(0);
            } finally {
                lock.unlock();
            }
        }));
    }

    static void waitNotify(boolean late) throws Exception {
        ArrayDeque<Box> q = new ArrayDeque<>();
        both(() -> {
            Box b = Box.full();
            synchronized (q) {
                q.add(b);
                q.notify();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (q) {
                while (q.isEmpty()) {
                    q.wait();
                }
                q.poll().use();
            }
        });
    }
}
