import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.StampedLock;

/** Objects that a thread uses after it has handed them over, and other ways to share them. */
public class RacyHandovers extends Scenarios {
    static class Cell {
        int value;
    }

    static final Cell OTHER = new Cell();

    static class Mutex extends AbstractQueuedSynchronizer {
        @Override
        protected boolean tryAcquire(int n) {
            return compareAndSetState(0, 1);
        }

        @Override
        protected boolean tryRelease(int n) {
            setState(0);
            return true;
        }
    }

    public static void main(String[] names) throws Exception {
        run(RacyHandovers.class, names);
    }

    static void exchanger() throws Exception {
        Exchanger<Cell> exchanger = new Exchanger<>();
        both(() -> {
            Cell mine = new Cell();
            exchanger.exchange(mine);
            mine.value = 1;
        }, () -> {
            Cell other = exchanger.exchange(new Cell());
            other.value = 2;
        });
    }

    static void synchronousQueue() throws Exception {
        SynchronousQueue<Cell> queue = new SynchronousQueue<>();
        both(() -> {
            Cell cell = new Cell();
            queue.put(cell);
            cell.value = 1;
        }, () -> {
            sink(queue.take().value);
        });
    }

    static void transfer() throws Exception {
        LinkedTransferQueue<Cell> queue = new LinkedTransferQueue<>();
        both(() -> {
            Cell cell = new Cell();
            queue.transfer(cell);
            cell.value = 1;
        }, () -> {
            sink(queue.take().value);
        });
    }

    static void ownSynchronizer() throws Exception {
        Mutex mutex = new Mutex();
        Cell cell = new Cell();
        both(() -> {
            mutex.acquire(1);
            cell.value++;
            mutex.release(1);
        }, () -> {
            mutex.acquire(1);
            mutex.release(1);
            cell.value++;
        });
    }

    static void optimisticReadWithoutValidation() throws Exception {
        StampedLock lock = new StampedLock();
        Cell cell = new Cell();
        both(() -> {
            long stamp = lock.writeLock();
            cell.value++;
            lock.unlockWrite(stamp);
        }, () -> {
            lock.tryOptimisticRead();
            sink(cell.value);
        });
    }

    static void streamOfList() throws Exception {
        List<Integer> list = new ArrayList<>(Arrays.asList(1, 2));
        both(() -> list.add(3), () -> {
            sink(list.stream().mapToInt(i -> i).sum());
        });
    }

    static void streamOfView() throws Exception {
        Map<String, Integer> map = new HashMap<>();
        map.put("a", 1);
        both(() -> map.remove("a"), () -> {
            sink((int) map.values().stream().filter(v -> v > 0).count());
        });
    }

    static void fieldByReflection() throws Exception {
        Cell cell = new Cell();
        Field field = Cell.class.getDeclaredField("value");
        both(() -> field.setInt(cell, 7), () -> {
            sink(cell.value);
        });
    }

    static void cloneOfArray() throws Exception {
        int[] array = new int[2];
        both(() -> {
            array[1] = 1;
        }, () -> {
            sink(array.clone()[0]);
        });
    }

    static void calendar() throws Exception {
        Calendar calendar = new GregorianCalendar();
        both(() -> calendar.set(Calendar.YEAR, 2000), () -> sink(calendar.get(Calendar.YEAR)));
    }

    static void weakHashMap() throws Exception {
        Map<String, Integer> map = new WeakHashMap<>();
        both(() -> map.put("a", 1), () -> map.put("b", 2));
    }

    static void timers() throws Exception {
        Cell cell = new Cell();
        Timer first = new Timer();
        Timer second = new Timer();
        CountDownLatch done = new CountDownLatch(2);
        first.schedule(new TimerTask() {
            @Override
            public void run() {
                cell.value++;
                done.countDown();
            }
        }, 1);
        second.schedule(new TimerTask() {
            @Override
            public void run() {
                cell.value++;
                done.countDown();
            }
        }, 1);
        done.await();
        first.cancel();
        second.cancel();
    }

    static void invokeAll() throws Exception {
        Cell cell = new Cell();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Callable<Integer>> tasks = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            tasks.add(() -> {
                return cell.value++;
            });
        }
        pool.invokeAll(tasks);
        pool.shutdown();
    }

    static void poolWithMoreTasksThanThreads() throws Exception {
        Map<Integer, Integer> map = new HashMap<>();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (int i = 0; i < 4; i++) {
            int key = i;
            pool.execute(() -> {
                map.put(key, key);
            });
        }
        pool.shutdown();
        pool.awaitTermination(9, TimeUnit.SECONDS);
    }

    static void dependentStages() throws Exception {
        List<Integer> list = new ArrayList<>();
        CompletableFuture<Void> a = CompletableFuture.supplyAsync(() -> 1).thenAccept(list::add);
        CompletableFuture<Void> b = CompletableFuture.supplyAsync(() -> 2).thenAccept(list::add);
        a.join();
        b.join();
    }

    static void drainedQueue() throws Exception {
        BlockingQueue<Cell> queue = new LinkedBlockingQueue<>();
        both(() -> {
            Cell cell = new Cell();
            queue.add(cell);
            cell.value = 1;
        }, () -> {
            List<Cell> cells = new ArrayList<>();
            while (cells.isEmpty()) {
                queue.drainTo(cells);
                Thread.yield();
            }
            cells.get(0).value++;
        });
    }

    static void readerViewOfStampedLock() throws Exception {
        StampedLock lock = new StampedLock();
        Cell cell = new Cell();
        Body increment = () -> {
            lock.asReadLock().lock();
            cell.value++;
            lock.asReadLock().unlock();
        };
        both(increment, increment);
    }

    static void lastOfDeque() throws Exception {
        LinkedBlockingDeque<Cell> deque = new LinkedBlockingDeque<>();
        both(() -> {
            Cell cell = new Cell();
            deque.putFirst(cell);
            cell.value = 1;
        }, () -> {
            sink(deque.takeLast().value);
        });
    }

    static void queueThatIsLookedInto() throws Exception {
        BlockingQueue<Cell> queue = new LinkedBlockingQueue<>();
        both(() -> {
            Cell cell = new Cell();
            queue.put(cell);
            sink(queue.contains(OTHER) || queue.remove(OTHER) ? 1 : 0);
            cell.value = 1;
        }, () -> {
            sink(queue.take().value);
        });
    }

    static void methodByReflection() throws Exception {
        Cell cell = new Cell();
        Method increment = RacyHandovers.class.getDeclaredMethod("increment", Cell.class);
        both(() -> increment.invoke(null, cell), () -> increment.invoke(null, cell));
    }

    static int increment(Cell cell) {
        return cell.value++;
    }
}
