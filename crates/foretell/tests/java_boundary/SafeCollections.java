import java.util.*;
import java.util.concurrent.*;

/** Thread-safe collections behind any static type. */
public class SafeCollections extends Handover {
    private SafeCollections() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("concurrentLinkedQueue", SafeCollections::concurrentLinkedQueue)
            .run("concurrentLinkedQueueTyped", SafeCollections::concurrentLinkedQueueTyped)
            .run("concurrentLinkedDeque", SafeCollections::concurrentLinkedDeque)
            .run("linkedBlockingQueue", SafeCollections::linkedBlockingQueue)
            .run("blockingQueueAsCollection", SafeCollections::blockingQueueAsCollection)
            .run("arrayBlockingQueue", SafeCollections::arrayBlockingQueue)
            .run("priorityBlockingQueue", SafeCollections::priorityBlockingQueue)
            .run("linkedBlockingDeque", SafeCollections::linkedBlockingDeque)
            .run("linkedTransferQueue", SafeCollections::linkedTransferQueue)
            .run("copyOnWriteArrayList", SafeCollections::copyOnWriteArrayList)
            .run("copyOnWriteArraySet", SafeCollections::copyOnWriteArraySet)
            .run("vector", SafeCollections::vector)
            .run("synchronizedList", SafeCollections::synchronizedList)
            .run("synchronizedMap", SafeCollections::synchronizedMap)
            .run("hashtable", SafeCollections::hashtable)
            .run("mapTypedConcurrentHashMap", SafeCollections::mapTypedConcurrentHashMap)
            .run("concurrentMapTyped", SafeCollections::concurrentMapTyped)
            .run("concurrentHashMap", SafeCollections::concurrentHashMap)
            .run("concurrentHashMapValues", SafeCollections::concurrentHashMapValues)
            .run("concurrentHashMapCompute", SafeCollections::concurrentHashMapCompute)
            .run("concurrentHashMapSearch", SafeCollections::concurrentHashMapSearch)
            .run("concurrentSkipListMap", SafeCollections::concurrentSkipListMap)
            .run("concurrentSkipListSet", SafeCollections::concurrentSkipListSet)
            .run("keySetOfConcurrentHashMap", SafeCollections::keySetOfConcurrentHashMap)
            .run("takeOfTypedQueue", SafeCollections::takeOfTypedQueue)
            .run("takeOfPriorityQueue", SafeCollections::takeOfPriorityQueue)
            .run("transfer", SafeCollections::transfer)
            .run("drainTo", SafeCollections::drainTo)
            .run("takeLast", SafeCollections::takeLast)
            .run("exchanger", SafeCollections::exchanger)
            .run("queueInField", SafeCollections::queueInField)
            .run("ownSubclassOfMap", SafeCollections::ownSubclassOfMap)
            .run("delayQueue", SafeCollections::delayQueue);
    }

    /** A holder whose content has the type of an interface. */
    static final class Holder<T> {
        private final T content;

        Holder(T content) {
            this.content = content;
        }

        T get() {
            return content;
        }
    }

    /** A map of the program's own. */
    static final class OwnMap extends ConcurrentHashMap<String, Box> {
    }

    /** An element that is due at once. */
    static final class Due implements Delayed {
        final Box box;

        Due(Box box) {
            this.box = box;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return 0;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }

    static void concurrentLinkedQueue(boolean late) throws Exception {
        Queue<Box> q = new ConcurrentLinkedQueue<>();
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.poll()));
    }

    static void concurrentLinkedQueueTyped(boolean late) throws Exception {
        ConcurrentLinkedQueue<Box> q = new ConcurrentLinkedQueue<>();
        both(() -> {
            Box b = Box.full();
            q.offer(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.poll()));
    }

    static void concurrentLinkedDeque(boolean late) throws Exception {
        Deque<Box> q = new ConcurrentLinkedDeque<>();
        both(() -> {
            Box b = Box.full();
            q.push(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.pollLast()));
    }

    static void linkedBlockingQueue(boolean late) throws Exception {
        Queue<Box> q = new LinkedBlockingQueue<>();
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.poll()));
    }

    static void blockingQueueAsCollection(boolean late) throws Exception {
        Collection<Box> q = new LinkedBlockingQueue<>();
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.isEmpty() ? null : q.iterator().next()));
    }

    static void arrayBlockingQueue(boolean late) throws Exception {
        BlockingQueue<Box> q = new ArrayBlockingQueue<>(1);
        both(() -> {
            Box b = Box.full();
            q.put(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.poll(1, TimeUnit.MILLISECONDS)));
    }

    static void priorityBlockingQueue(boolean late) throws Exception {
        PriorityBlockingQueue<Box> q = new PriorityBlockingQueue<>(1, (x, y) -> 0);
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.poll()));
    }

    static void linkedBlockingDeque(boolean late) throws Exception {
        BlockingDeque<Box> q = new LinkedBlockingDeque<>();
        both(() -> {
            Box b = Box.full();
            q.putLast(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.pollFirst()));
    }

    static void linkedTransferQueue(boolean late) throws Exception {
        TransferQueue<Box> q = new LinkedTransferQueue<>();
        both(() -> {
            Box b = Box.full();
            q.put(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.poll()));
    }

    static void copyOnWriteArrayList(boolean late) throws Exception {
        List<Box> q = new CopyOnWriteArrayList<>();
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.isEmpty() ? null : q.get(0)));
    }

    static void copyOnWriteArraySet(boolean late) throws Exception {
        Set<Box> q = new CopyOnWriteArraySet<>();
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.isEmpty() ? null : q.iterator().next()));
    }

    static void vector(boolean late) throws Exception {
        Vector<Box> q = new Vector<>();
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.isEmpty() ? null : q.firstElement()));
    }

    static void synchronizedList(boolean late) throws Exception {
        List<Box> q = Collections.synchronizedList(new ArrayList<>());
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.isEmpty() ? null : q.get(0)));
    }

    static void synchronizedMap(boolean late) throws Exception {
        Map<String, Box> q = Collections.synchronizedMap(new HashMap<>());
        both(() -> {
            Box b = Box.full();
            q.put("box", b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.get("box")));
    }

    static void hashtable(boolean late) throws Exception {
        Map<String, Box> q = new Hashtable<>();
        both(() -> {
            Box b = Box.full();
            q.put("box", b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.get("box")));
    }

    static void mapTypedConcurrentHashMap(boolean late) throws Exception {
        Map<String, Box> q = new ConcurrentHashMap<>();
        both(() -> {
            Box b = Box.full();
            q.put("box", b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.get("box")));
    }

    static void concurrentMapTyped(boolean late) throws Exception {
        ConcurrentMap<String, Box> q = new ConcurrentHashMap<>();
        both(() -> {
            Box b = Box.full();
            q.putIfAbsent("box", b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.get("box")));
    }

    static void concurrentHashMap(boolean late) throws Exception {
        ConcurrentHashMap<String, Box> q = new ConcurrentHashMap<>();
        both(() -> {
            Box b = Box.full();
            q.put("box", b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.remove("box")));
    }

    static void concurrentHashMapValues(boolean late) throws Exception {
        ConcurrentHashMap<String, Box> q = new ConcurrentHashMap<>();
        both(() -> {
            Box b = Box.full();
            q.put("box", b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.values().isEmpty() ? null : q.values().iterator().next()));
    }

    static void concurrentHashMapCompute(boolean late) throws Exception {
        ConcurrentHashMap<String, Box> q = new ConcurrentHashMap<>();
        both(() -> {
            Box b = Box.full();
            q.compute("box", (k, old) -> b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.getOrDefault("box", null)));
    }

    static void concurrentHashMapSearch(boolean late) throws Exception {
        ConcurrentHashMap<String, Box> q = new ConcurrentHashMap<>();
        both(() -> {
            Box b = Box.full();
            q.put("box", b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.search(100, (k, box) -> box)));
    }

    static void concurrentSkipListMap(boolean late) throws Exception {
        ConcurrentNavigableMap<String, Box> q = new ConcurrentSkipListMap<>();
        both(() -> {
            Box b = Box.full();
            q.put("box", b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.get("box")));
    }

    static void concurrentSkipListSet(boolean late) throws Exception {
        Set<Box> q = new ConcurrentSkipListSet<>((x, y) -> 0);
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.isEmpty() ? null : q.iterator().next()));
    }

    static void keySetOfConcurrentHashMap(boolean late) throws Exception {
        Set<Object> q = ConcurrentHashMap.newKeySet();
        both(() -> {
            Box b = Box.full();
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.isEmpty() ? null : (Box) q.iterator().next()));
    }

    static void takeOfTypedQueue(boolean late) throws Exception {
        BlockingQueue<Box> q = new LinkedBlockingQueue<>();
        both(() -> {
            Box b = Box.full();
            q.put(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.take().use();
        });
    }

    static void takeOfPriorityQueue(boolean late) throws Exception {
        BlockingQueue<Box> q = new PriorityBlockingQueue<>(1, (x, y) -> 0);
        both(() -> {
            Box b = Box.full();
            q.put(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.take().use();
        });
    }

    static void transfer(boolean late) throws Exception {
        LinkedTransferQueue<Box> q = new LinkedTransferQueue<>();
        both(() -> {
            Box b = Box.full();
            q.transfer(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.take().use();
        });
    }

    static void drainTo(boolean late) throws Exception {
        BlockingQueue<Box> q = new LinkedBlockingQueue<>();
        both(() -> {
            Box b = Box.full();
            q.put(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            List<Box> all = new ArrayList<>();
            q.drainTo(all);
            return all.isEmpty() ? null : all.get(0);
        }));
    }

    static void takeLast(boolean late) throws Exception {
        LinkedBlockingDeque<Box> q = new LinkedBlockingDeque<>();
        both(() -> {
            Box b = Box.full();
            q.putFirst(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.takeLast().use();
        });
    }

    static void exchanger(boolean late) throws Exception {
        Exchanger<Box> q = new Exchanger<>();
        both(() -> {
            Box b = Box.full();
            q.exchange(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.exchange(null).use();
        });
    }

    static void queueInField(boolean late) throws Exception {
        Holder<Queue<Box>> holder = new Holder<>(new ConcurrentLinkedQueue<>());
        both(() -> {
            Box b = Box.full();
            holder.get().add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> holder.get().poll()));
    }

    static void ownSubclassOfMap(boolean late) throws Exception {
        OwnMap q = new OwnMap();
        both(() -> {
            Box b = Box.full();
            q.put("box", b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> q.get("box")));
    }

    static void delayQueue(boolean late) throws Exception {
        DelayQueue<Due> q = new DelayQueue<>();
        both(() -> {
            Box b = Box.full();
            q.put(new Due(b));
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.take().box.use();
        });
    }
}
