import java.io.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.function.*;
import java.util.stream.*;

/**
 * Hand-overs through classes of the platform. The correct ones are ordered by state that is not
 * recorded; the buggy twins, whose names begin with `racy`, use the box outside of that order.
 */
public class Hidden {
    static final class Box {
        int v;
    }

    interface Body {
        void run() throws Exception;
    }

    static Thread start(Body body) {
        Thread t = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        t.start();
        return t;
    }

    /** Runs two threads, the first one first in most schedules. */
    static void both(Body a, Body b) throws Exception {
        Thread s = start(a);
        Thread.sleep(5);
        Thread t = start(b);
        s.join();
        t.join();
    }

    static void expect(Box b, int v) {
        if (b.v != v) {
            throw new IllegalStateException("lost: " + b.v);
        }
        b.v++;
    }

    static Box made() {
        Box b = new Box();
        b.v = 1;
        return b;
    }

    /** Hands a box over under a lock, by whatever the two functions do. */
    static void locked(Consumer<Box> put, Supplier<Box> take) throws Exception {
        Object lock = new Object();
        both(() -> {
            Box b = made();
            synchronized (lock) {
                put.accept(b);
            }
        }, () -> {
            Box b = null;
            while (b == null) {
                synchronized (lock) {
                    b = take.get();
                }
                Thread.yield();
            }
            expect(b, 1);
        });
    }

    /** Hands a box over without a lock. */
    static void unlocked(Consumer<Box> put, Supplier<Box> take) throws Exception {
        both(() -> put.accept(made()), () -> {
            Box b = null;
            while (b == null) {
                b = take.get();
                Thread.yield();
            }
            expect(b, 1);
        });
    }

    // Collections under a monitor.

    static void linkedList() throws Exception {
        LinkedList<Box> l = new LinkedList<>();
        locked(b -> l.add(b), () -> l.isEmpty() ? null : l.removeFirst());
    }

    static void methodReferences() throws Exception {
        Queue<Box> q = new ArrayDeque<>();
        locked(q::add, q::poll);
    }

    static void hashMap() throws Exception {
        Map<String, Box> m = new HashMap<>();
        locked(b -> m.put("k", b), () -> m.containsKey("k") ? m.get("k") : null);
    }

    static void treeMap() throws Exception {
        NavigableMap<Integer, Box> m = new TreeMap<>();
        locked(b -> m.put(3, b), () -> m.firstEntry() == null ? null : m.firstEntry().getValue());
    }

    static void priorityQueue() throws Exception {
        PriorityQueue<Box> q = new PriorityQueue<>(Comparator.comparingInt(b -> b.v));
        locked(q::offer, q::peek);
    }

    static void bitSet() throws Exception {
        BitSet bits = new BitSet();
        Box shared = new Box();
        locked(b -> {
            shared.v = 1;
            bits.set(3);
        }, () -> bits.get(3) ? shared : null);
    }

    static void stringBuilder() throws Exception {
        StringBuilder s = new StringBuilder();
        Box shared = new Box();
        locked(b -> {
            shared.v = 1;
            s.append("go");
        }, () -> s.length() > 0 ? shared : null);
    }

    static void iterator() throws Exception {
        List<Box> l = new ArrayList<>();
        locked(l::add, () -> {
            for (Box b : l) {
                return b;
            }
            return null;
        });
    }

    static void listIterator() throws Exception {
        List<Box> l = new ArrayList<>();
        locked(b -> l.listIterator().add(b), () -> {
            ListIterator<Box> i = l.listIterator();
            return i.hasNext() ? i.next() : null;
        });
    }

    static void subList() throws Exception {
        List<Box> l = new ArrayList<>(Arrays.asList(null, null));
        List<Box> view = l.subList(1, 2);
        locked(b -> view.set(0, b), () -> l.get(1));
    }

    static void entrySet() throws Exception {
        Map<String, Box> m = new HashMap<>();
        m.put("k", null);
        Set<Map.Entry<String, Box>> entries = m.entrySet();
        locked(b -> m.entrySet().iterator().next().setValue(b),
            () -> entries.iterator().next().getValue());
    }

    static void streams() throws Exception {
        Collection<Box> l = new ArrayList<>();
        locked(l::add, () -> l.stream().filter(Objects::nonNull).findFirst().orElse(null));
    }

    static void forEach() throws Exception {
        List<Box> l = new ArrayList<>();
        locked(l::add, () -> {
            Box[] found = new Box[1];
            l.forEach(b -> found[0] = b);
            return found[0];
        });
    }

    static class Own extends ArrayList<Box> {
        Box first() {
            return isEmpty() ? null : get(0);
        }

        @Override
        public boolean add(Box b) {
            return super.add(b);
        }
    }

    static void subclass() throws Exception {
        Own l = new Own();
        locked(l::add, l::first);
    }

    static void properties() throws Exception {
        Properties p = new Properties();
        Box shared = new Box();
        locked(b -> {
            shared.v = 1;
            p.setProperty("k", "1");
        }, () -> p.getProperty("k") == null ? null : shared);
    }

    static void random() throws Exception {
        Random r = new Random(5);
        Box shared = new Box();
        int first = new Random(5).nextInt();
        locked(b -> {
            shared.v = 1;
            r.nextInt();
        }, () -> r.nextInt() == first ? later(r) : shared);
    }

    /** The consumer was first: it starts the generator again. */
    static Box later(Random r) {
        r.setSeed(5);
        return null;
    }

    static void arrays() throws Exception {
        int[] a = new int[4];
        Box shared = new Box();
        locked(b -> {
            shared.v = 1;
            Arrays.fill(a, 1);
        }, () -> a[0] == 1 ? shared : null);
    }

    static void arrayCopy() throws Exception {
        int[] a = new int[4];
        Box shared = new Box();
        locked(b -> {
            shared.v = 1;
            a[2] = 1;
        }, () -> a.clone()[2] == 1 ? shared : null);
    }

    // Collections that are their own lock.

    static void vector() throws Exception {
        Vector<Box> v = new Vector<>();
        unlocked(v::add, () -> v.isEmpty() ? null : v.firstElement());
    }

    static void hashtable() throws Exception {
        Map<String, Box> m = new Hashtable<>();
        unlocked(b -> m.put("k", b), () -> m.get("k"));
    }

    static void synchronizedList() throws Exception {
        List<Box> l = Collections.synchronizedList(new ArrayList<>());
        unlocked(l::add, () -> l.size() == 0 ? null : l.get(0));
    }

    static void copyOnWrite() throws Exception {
        List<Box> l = new CopyOnWriteArrayList<>();
        unlocked(l::add, () -> l.iterator().hasNext() ? l.iterator().next() : null);
    }

    static void linkedQueue() throws Exception {
        ConcurrentLinkedQueue<Box> q = new ConcurrentLinkedQueue<>();
        unlocked(q::offer, q::poll);
    }

    static void typedAsMap() throws Exception {
        Map<String, Box> m = new ConcurrentHashMap<>();
        unlocked(b -> m.put("k", b), () -> m.get("k"));
    }

    static void keysOfMap() throws Exception {
        ConcurrentMap<String, Box> m = new ConcurrentHashMap<>();
        unlocked(b -> m.put("k", b), () -> {
            for (Box b : m.values()) {
                return b;
            }
            return null;
        });
    }

    static void typedAsQueue() throws Exception {
        Collection<Box> c = new LinkedBlockingQueue<>();
        Queue<Box> q = (Queue<Box>) c;
        unlocked(c::add, q::poll);
    }

    static void skipList() throws Exception {
        SortedSet<String> s = new ConcurrentSkipListSet<>();
        Box shared = new Box();
        unlocked(b -> {
            shared.v = 1;
            s.add("go");
        }, () -> s.contains("go") ? shared : null);
    }

    static void adder() throws Exception {
        LongAdder n = new LongAdder();
        Box shared = new Box();
        unlocked(b -> {
            shared.v = 1;
            n.increment();
        }, () -> n.sum() == 1 ? shared : null);
    }

    static void stamped() throws Exception {
        AtomicStampedReference<Box> r = new AtomicStampedReference<>(null, 0);
        unlocked(b -> r.set(b, 1), r::getReference);
    }

    static void stampedLock() throws Exception {
        StampedLock l = new StampedLock();
        Box shared = new Box();
        both(() -> {
            long s = l.writeLock();
            shared.v++;
            l.unlockWrite(s);
        }, () -> {
            long s = l.writeLock();
            shared.v++;
            l.unlockWrite(s);
        });
    }

    // Waits.

    static void exchanger() throws Exception {
        Exchanger<Box> e = new Exchanger<>();
        both(() -> expect(e.exchange(made()), 1), () -> expect(e.exchange(made()), 1));
    }

    static void phaser() throws Exception {
        Phaser p = new Phaser(2);
        Box shared = new Box();
        both(() -> {
            shared.v = 1;
            p.arriveAndAwaitAdvance();
        }, () -> {
            p.arriveAndAwaitAdvance();
            expect(shared, 1);
        });
    }

    static void transferQueue() throws Exception {
        BlockingDeque<Box> d = new LinkedBlockingDeque<>();
        both(() -> d.putFirst(made()), () -> expect(d.takeLast(), 1));
    }

    static void timer() throws Exception {
        Timer timer = new Timer(true);
        Box shared = new Box();
        CountDownLatch done = new CountDownLatch(1);
        shared.v = 1;
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                expect(shared, 1);
                done.countDown();
            }
        }, 1);
        done.await();
        expect(shared, 2);
        timer.cancel();
    }

    static void completable() throws Exception {
        Box shared = made();
        CompletableFuture<Box> f = CompletableFuture.supplyAsync(() -> {
            expect(shared, 1);
            return shared;
        });
        CompletableFuture<Box> g = f.thenApplyAsync(b -> {
            expect(b, 2);
            return b;
        });
        expect(g.get(), 3);
    }

    static void forkJoin() throws Exception {
        Box shared = made();
        int n = ForkJoinPool.commonPool().invoke(new RecursiveTask<Integer>() {
            @Override
            protected Integer compute() {
                expect(shared, 1);
                return 1;
            }
        });
        expect(shared, 1 + n);
    }

    static void parallelStream() throws Exception {
        Box[] boxes = new Box[16];
        Arrays.setAll(boxes, i -> made());
        Arrays.stream(boxes).parallel().forEach(b -> expect(b, 1));
        for (Box b : boxes) {
            expect(b, 2);
        }
    }

    static void threadLocal() throws Exception {
        ThreadLocal<Box> own = ThreadLocal.withInitial(Box::new);
        both(() -> own.get().v++, () -> own.get().v++);
    }

    static void pipe() throws Exception {
        PipedInputStream in = new PipedInputStream();
        PipedOutputStream out = new PipedOutputStream(in);
        Box shared = new Box();
        both(() -> {
            shared.v = 1;
            out.write(7);
            out.close();
        }, () -> {
            in.read();
            expect(shared, 1);
        });
    }

    static void scanner() throws Exception {
        PipedReader in = new PipedReader();
        Writer out = new PipedWriter(in);
        Box shared = new Box();
        both(() -> {
            shared.v = 1;
            out.write("go on\n");
            out.close();
        }, () -> {
            new Scanner(in).nextLine();
            expect(shared, 1);
        });
    }

    volatile int flag;

    static void updater() throws Exception {
        AtomicIntegerFieldUpdater<Hidden> u =
            AtomicIntegerFieldUpdater.newUpdater(Hidden.class, "flag");
        Hidden h = new Hidden();
        Box shared = new Box();
        unlocked(b -> {
            shared.v = 1;
            u.set(h, 1);
        }, () -> u.get(h) == 1 ? shared : null);
    }

    static void reflection() throws Exception {
        java.lang.reflect.Field f = Hidden.class.getDeclaredField("flag");
        Hidden h = new Hidden();
        Box shared = new Box();
        unlocked(b -> {
            shared.v = 1;
            h.flag = 1;
        }, () -> {
            try {
                return f.getInt(h) == 1 ? shared : null;
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    static void scheduled() throws Exception {
        ScheduledExecutorService e = Executors.newScheduledThreadPool(2);
        Box shared = new Box();
        CountDownLatch three = new CountDownLatch(3);
        e.scheduleAtFixedRate(() -> {
            shared.v++;
            three.countDown();
        }, 0, 1, TimeUnit.MILLISECONDS);
        three.await();
        e.shutdownNow();
    }

    // The buggy twins.

    static void racyList() throws Exception {
        List<Box> l = Collections.synchronizedList(new ArrayList<>());
        both(() -> {
            Box b = made();
            l.add(b);
            b.v = 5;
        }, () -> {
            while (l.isEmpty()) {
                Thread.yield();
            }
            l.get(0).v++;
        });
    }

    static void racyMap() throws Exception {
        Map<String, Box> m = new ConcurrentHashMap<>();
        Box b = new Box();
        both(() -> {
            m.put("a", b);
            b.v = 1;
        }, () -> {
            m.put("b", b);
            b.v = 2;
        });
    }

    static void racyLocal() throws Exception {
        Box b = new Box();
        both(() -> {
            StringBuilder s = new StringBuilder();
            s.append(1).append("x");
            b.v += s.length();
        }, () -> {
            List<Integer> l = new ArrayList<>();
            l.add(1);
            b.v += l.size();
        });
    }

    static void racyTasks() throws Exception {
        ExecutorService e = Executors.newFixedThreadPool(2);
        Box b = new Box();
        Future<?> f = e.submit(() -> b.v++);
        Future<?> g = e.submit(() -> b.v++);
        f.get();
        g.get();
        e.shutdown();
    }

    public static void main(String[] args) throws Exception {
        for (String name : args) {
            Hidden.class.getDeclaredMethod(name).invoke(null);
        }
        System.out.println(args.length + " hand-overs");
    }
}
