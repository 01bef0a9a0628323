import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/** Objects of java.util.concurrent, called through interfaces, method references and lambdas. */
final class Shared extends Scenario {
    volatile int updated;
    static final AtomicIntegerFieldUpdater<Shared> UPDATER =
        AtomicIntegerFieldUpdater.newUpdater(Shared.class, "updated");

    public static void main(String[] args) throws Exception {
        bug = args[1].equals("bug");
        switch (args[0]) {
            case "concurrentHashMap" -> {
                Map<String, String> box = new ConcurrentHashMap<>();
                poll(() -> box.put("key", ""), () -> box.containsKey("key"));
            }
            case "computeIfAbsent" -> {
                Map<String, Item> box = new ConcurrentHashMap<>();
                both(() -> use(box), () -> use(box));
                seen = box.get("key").value;
            }
            case "linkedBlockingQueue" -> {
                Queue<Item> box = new LinkedBlockingQueue<>();
                items(box::add, box::poll);
            }
            case "arrayBlockingQueue" -> {
                BlockingQueue<Item> box = new ArrayBlockingQueue<>(1);
                items(item -> unchecked(() -> box.put(item)), () -> unchecked(box::take));
            }
            case "concurrentLinkedQueue" -> {
                Queue<Item> box = new ConcurrentLinkedQueue<>();
                items(box::add, box::poll);
            }
            case "concurrentLinkedDeque" -> {
                Deque<Item> box = new ConcurrentLinkedDeque<>();
                items(box::push, box::pollLast);
            }
            case "copyOnWriteArrayList" -> {
                List<Item> box = new CopyOnWriteArrayList<>();
                items(box::add, () -> box.isEmpty() ? null : box.remove(0));
            }
            case "copyOnWriteArraySet" -> {
                Set<String> box = new CopyOnWriteArraySet<>();
                poll(() -> box.add("key"), () -> box.contains("key"));
            }
            case "skipListMap" -> {
                NavigableMap<Integer, Item> box = new ConcurrentSkipListMap<>();
                int[] next = {0};
                items(i -> box.put(next[0]++, i), () -> {
                    Map.Entry<Integer, Item> entry = box.pollFirstEntry();
                    return entry == null ? null : entry.getValue();
                });
            }
            case "skipListSet" -> {
                Set<String> box = new ConcurrentSkipListSet<>();
                poll(() -> box.add("key"), () -> !box.isEmpty());
            }
            case "priorityBlockingQueue" -> {
                BlockingQueue<String> box = new PriorityBlockingQueue<>();
                pass(() -> box.add("x"), () -> unchecked(box::take));
            }
            case "synchronousQueue" -> {
                BlockingQueue<Item> box = new SynchronousQueue<>();
                items(item -> unchecked(() -> box.put(item)), () -> unchecked(box::take));
            }
            case "linkedTransferQueue" -> {
                Queue<Item> box = new LinkedTransferQueue<>();
                items(box::add, box::poll);
            }
            case "linkedBlockingDeque" -> {
                BlockingDeque<Item> box = new LinkedBlockingDeque<>();
                items(box::push, () -> unchecked(box::takeLast));
            }
            case "delayQueue" -> {
                DelayQueue<Soon> box = new DelayQueue<>();
                pass(() -> box.add(new Soon()), () -> unchecked(box::take));
            }
            case "exchanger" -> {
                Exchanger<String> box = new Exchanger<>();
                pass(() -> unchecked(() -> box.exchange("a")), () -> unchecked(() -> box.exchange("b")));
            }
            case "phaser" -> {
                Phaser box = new Phaser(2);
                pass(box::arriveAndAwaitAdvance, box::arriveAndAwaitAdvance);
            }
            case "countDownLatch" -> {
                CountDownLatch box = new CountDownLatch(1);
                pass(box::countDown, () -> unchecked(() -> { box.await(); return null; }));
            }
            case "barrierAction" -> {
                int[] parts = new int[2];
                CyclicBarrier box = new CyclicBarrier(2, () -> seen = parts[0] + parts[1]);
                both(() -> meet(box, parts, 0), () -> meet(box, parts, 1));
            }
            case "semaphore" -> {
                Semaphore box = new Semaphore(0);
                pass(box::release, box::acquireUninterruptibly);
            }
            case "longAdder" -> {
                LongAdder box = new LongAdder();
                poll(box::increment, () -> box.sum() > 0);
            }
            case "longAccumulator" -> {
                LongAccumulator box = new LongAccumulator(Math::max, 0);
                poll(() -> box.accumulate(3), () -> box.get() == 3);
            }
            case "atomicReferenceArray" -> {
                AtomicReferenceArray<Item> box = new AtomicReferenceArray<>(2);
                poll(() -> box.set(1, new Item()), () -> box.get(1) != null);
            }
            case "atomicBoolean" -> {
                AtomicBoolean box = new AtomicBoolean();
                poll(() -> box.set(true), box::get);
            }
            case "markableReference" -> {
                AtomicMarkableReference<Object> box = new AtomicMarkableReference<>(lock, false);
                poll(() -> box.set(lock, true), box::isMarked);
            }
            case "fieldUpdater" -> {
                Shared box = new Shared();
                poll(() -> UPDATER.incrementAndGet(box), () -> UPDATER.get(box) == 1);
            }
            case "mergeByReference" -> {
                ConcurrentMap<String, Integer> box = new ConcurrentHashMap<>();
                poll(() -> box.merge("key", 1, Integer::sum), () -> box.getOrDefault("key", 0) == 1);
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
        end(args[1]);
    }

    private static void use(Map<String, Item> box) {
        Item item = box.computeIfAbsent("key", key -> {
            Item made = new Item();
            made.value = 42;
            return made;
        });
        if (bug) item.value = item.value;
        if (item.value != 42) throw new IllegalStateException();
    }

    private static void meet(CyclicBarrier box, int[] parts, int me) {
        if (!bug) parts[me] = 21;
        unchecked(() -> box.await());
        if (bug) parts[0] = me;
    }

    interface Call { void run() throws Exception; }

    static void unchecked(Call call) {
        unchecked(() -> {
            call.run();
            return null;
        });
    }

    static <T> T unchecked(Callable<T> call) {
        try {
            return call.call();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    static final class Soon implements Delayed {
        @Override public long getDelay(TimeUnit unit) { return 0; }
        @Override public int compareTo(Delayed other) { return 0; }
    }
}
