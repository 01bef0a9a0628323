import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.StampedLock;
import java.util.stream.*;

/** Correct uses of pools, of atomic collections, of adders and of locks. */
public class GuardedTasks extends Scenarios {
    public static void main(String[] names) throws Exception {
        run(GuardedTasks.class, names);
    }

    static void parallelSum() throws Exception {
        sink(IntStream.range(0, 32).parallel().map(i -> i * i).sum());
    }

    static void parallelCollect() throws Exception {
        List<int[]> list = IntStream.range(0, 16).parallel().mapToObj(i -> new int[] {i})
            .collect(Collectors.toList());
        list.get(3)[0]++;
    }

    static void recursiveSum() throws Exception {
        int[] numbers = new int[16];
        class Sum extends RecursiveTask<Integer> {
            final int from;
            final int to;

            Sum(int from, int to) {
                this.from = from;
                this.to = to;
            }

            @Override
            protected Integer compute() {
                if (to - from <= 2) {
                    numbers[from]++;
                    return to - from;
                }
                Sum left = new Sum(from, (from + to) / 2);
                left.fork();
                int right = new Sum((from + to) / 2, to).compute();
                return left.join() + right;
            }
        }
        ForkJoinPool pool = new ForkJoinPool(3);
        sink(pool.invoke(new Sum(0, 16)) + numbers[0]);
        pool.shutdown();
    }

    static void stages() throws Exception {
        int[] box = new int[1];
        CompletableFuture.runAsync(() -> {
            box[0]++;
        }).thenRun(() -> {
            box[0]++;
        }).thenApply(n -> ++box[0]).join();
        box[0]++;
    }

    static void atomicCollections() throws Exception {
        Queue<int[]> queue = new ConcurrentLinkedQueue<>();
        List<int[]> list = new CopyOnWriteArrayList<>();
        Set<Integer> set = ConcurrentHashMap.newKeySet();
        LongAdder adder = new LongAdder();
        AtomicStampedReference<int[]> cell = new AtomicStampedReference<>(null, 0);
        both(() -> {
            queue.add(new int[] {1});
            list.add(new int[] {1});
            set.add(1);
            adder.increment();
            cell.compareAndSet(null, new int[] {1}, 0, 1);
        }, () -> {
            int[] box = queue.poll();
            if (box != null) {
                box[0]++;
            }
            for (int[] other : list) {
                other[0]++;
            }
            int[] last = cell.getReference();
            if (last != null) {
                last[0]++;
            }
            sink((int) adder.sum() + set.size());
        });
    }

    static void handedOverByAdder() throws Exception {
        int[] box = new int[1];
        LongAdder ready = new LongAdder();
        both(() -> {
            box[0] = 1;
            ready.increment();
        }, () -> {
            if (ready.sum() == 1) {
                box[0]++;
            }
        });
    }

    static void stampedLocks() throws Exception {
        StampedLock lock = new StampedLock();
        int[] box = new int[1];
        Body use = () -> {
            long stamp = lock.writeLock();
            box[0]++;
            lock.unlock(stamp);
            stamp = lock.readLock();
            sink(box[0]);
            lock.unlockRead(stamp);
        };
        both(use, use);
    }

    static void stampedPoint() throws Exception {
        StampedLock lock = new StampedLock();
        int[] point = new int[2];
        both(() -> {
            long stamp = lock.writeLock();
            point[0]++;
            point[1]++;
            lock.unlockWrite(stamp);
        }, () -> {
            long stamp = lock.tryOptimisticRead();
            int x = point[0];
            int y = point[1];
            if (!lock.validate(stamp)) {
                stamp = lock.readLock();
                x = point[0];
                y = point[1];
                lock.unlockRead(stamp);
            }
            sink(x + y);
        });
    }

    static void invalidOptimisticReads() throws Exception {
        StampedLock lock = new StampedLock();
        StampedLock other = new StampedLock();
        int[] point = new int[2];
        List<Integer> list = new ArrayList<>();
        both(() -> {
            for (int i = 0; i < 12; i++) {
                long stamp = lock.writeLock();
                point[0]++;
                list.add(i);
                point[1]++;
                lock.unlockWrite(stamp);
            }
        }, () -> {
            for (int i = 0; i < 12; i++) {
                long stamp = lock.tryOptimisticRead();
                long second = other.tryOptimisticRead();
                int sum = point[0];
                sum += list.size();
                sum += point[1];
                if (!other.validate(second) || !lock.validate(stamp) || !lock.validate(stamp)) {
                    stamp = lock.readLock();
                    sum = point[0] + list.size() + point[1];
                    lock.unlockRead(stamp);
                }
                sink(sum);
            }
        });
    }

    static void convertedOptimisticReads() throws Exception {
        StampedLock lock = new StampedLock();
        int[] point = new int[2];
        Body move = () -> {
            for (int i = 0; i < 8; i++) {
                long stamp = lock.tryOptimisticRead();
                int x = point[0];
                int y = point[1];
                stamp = lock.tryConvertToWriteLock(stamp);
                if (stamp == 0) {
                    stamp = lock.writeLock();
                    x = point[0];
                    y = point[1];
                }
                point[0] = y + 1;
                point[1] = x + 1;
                stamp = lock.tryConvertToOptimisticRead(stamp);
                x = point[0] + point[1];
                if (lock.validate(stamp)) {
                    sink(x);
                }
            }
        };
        both(move, move);
    }

    static void stampedUpgrade() throws Exception {
        StampedLock lock = new StampedLock();
        int[] box = new int[1];
        Body use = () -> {
            long stamp = lock.readLock();
            while (box[0] < 2) {
                long writes = lock.tryConvertToWriteLock(stamp);
                if (writes != 0) {
                    stamp = writes;
                    box[0]++;
                } else {
                    lock.unlockRead(stamp);
                    stamp = lock.writeLock();
                }
            }
            lock.unlock(stamp);
        };
        both(use, use);
    }

    static void semaphoreAsMutex() throws Exception {
        Semaphore mutex = new Semaphore(1);
        Semaphore other = new Semaphore(1);
        int[] box = new int[1];
        both(() -> {
            mutex.acquire();
            box[0]++;
            if (other.tryAcquire()) {
                other.release();
            }
            mutex.release();
        }, () -> {
            other.acquire();
            if (mutex.tryAcquire()) {
                box[0]++;
                mutex.release();
            }
            other.release();
        });
    }

    static void listsAppendedInOneOrder() throws Exception {
        List<Integer> a = Collections.synchronizedList(new ArrayList<>(Arrays.asList(1)));
        List<Integer> b = Collections.synchronizedList(new ArrayList<>(Arrays.asList(2)));
        Body append = () -> {
            a.addAll(b);
            try {
                a.addAll(null);
            } catch (NullPointerException e) {
                b.add(3);
            }
        };
        both(append, append);
    }
}
