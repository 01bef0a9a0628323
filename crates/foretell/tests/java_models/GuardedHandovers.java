import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.StampedLock;
import java.util.stream.Collectors;

/** Correct versions of the scenarios of RacyHandovers. */
public class GuardedHandovers extends Scenarios {
    static class Cell {
        int value;
    }

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

    static class Gate extends AbstractQueuedSynchronizer {
        @Override
        protected int tryAcquireShared(int n) {
            return getState() > 0 ? 1 : -1;
        }

        @Override
        protected boolean tryReleaseShared(int n) {
            setState(1);
            return true;
        }
    }

    public static void main(String[] names) throws Exception {
        run(GuardedHandovers.class, names);
    }

    static void exchanger() throws Exception {
        Exchanger<Cell> exchanger = new Exchanger<>();
        both(() -> {
            Cell cell = new Cell();
            for (int i = 0; i < 3; i++) {
                cell.value++;
                cell = exchanger.exchange(cell);
            }
        }, () -> {
            Cell cell = new Cell();
            for (int i = 0; i < 3; i++) {
                cell = exchanger.exchange(cell);
                cell.value++;
            }
        });
    }

    static void synchronousQueue() throws Exception {
        SynchronousQueue<Cell> queue = new SynchronousQueue<>();
        Cell shared = new Cell();
        both(() -> {
            for (int i = 0; i < 2; i++) {
                Cell cell = new Cell();
                cell.value = i;
                shared.value++;
                queue.put(cell);
                queue.take();
            }
        }, () -> {
            for (int i = 0; i < 2; i++) {
                Cell cell = queue.take();
                cell.value++;
                shared.value++;
                queue.put(cell);
            }
        });
    }

    static void transfer() throws Exception {
        LinkedTransferQueue<Cell> queue = new LinkedTransferQueue<>();
        both(() -> {
            Cell cell = new Cell();
            cell.value = 1;
            queue.transfer(cell);
        }, () -> {
            queue.take().value++;
        });
    }

    static void phaser() throws Exception {
        Phaser phaser = new Phaser(2);
        int[] values = new int[2];
        both(() -> {
            values[0] = 1;
            phaser.arriveAndAwaitAdvance();
            sink(values[1]);
        }, () -> {
            values[1] = 1;
            phaser.arriveAndAwaitAdvance();
            sink(values[0]);
        });
    }

    static void ownSynchronizer() throws Exception {
        Mutex mutex = new Mutex();
        Cell cell = new Cell();
        Body body = () -> {
            for (int i = 0; i < 3; i++) {
                mutex.acquire(1);
                cell.value++;
                mutex.release(1);
            }
        };
        both(body, body);
    }

    static void ownGate() throws Exception {
        Gate gate = new Gate();
        Cell cell = new Cell();
        both(() -> {
            gate.acquireShared(1);
            cell.value++;
        }, () -> {
            cell.value = 1;
            gate.releaseShared(1);
        });
    }

    static void validatedOptimisticRead() throws Exception {
        StampedLock lock = new StampedLock();
        Cell cell = new Cell();
        Body write = () -> {
            long stamp = lock.writeLock();
            cell.value++;
            lock.unlockWrite(stamp);
        };
        both(write, () -> {
            for (int i = 0; i < 3; i++) {
                long stamp = lock.tryOptimisticRead();
                int value = cell.value;
                if (!lock.validate(stamp)) {
                    stamp = lock.readLock();
                    value = cell.value;
                    lock.unlockRead(stamp);
                }
                sink(value);
            }
        });
    }

    static void streams() throws Exception {
        List<Cell> cells = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            cells.add(new Cell());
        }
        Body body = () -> {
            synchronized (cells) {
                cells.stream().forEach(cell -> cell.value++);
                cells.add(new Cell());
                sink(cells.stream().collect(Collectors.toList()).size());
            }
        };
        both(body, body);
        sink(cells.parallelStream().mapToInt(cell -> cell.value).sum());
    }

    static void fieldByReflection() throws Exception {
        Cell cell = new Cell();
        Field field = Cell.class.getDeclaredField("value");
        Body body = () -> {
            synchronized (field) {
                field.setInt(cell, (Integer) field.get(cell) + 1);
            }
        };
        both(body, body);
        sink(cell.value);
    }

    static void cloneOfArray() throws Exception {
        int[] array = new int[2];
        Body body = () -> {
            int[] copy;
            synchronized (array) {
                array[0]++;
                copy = array.clone();
            }
            copy[0]++;
            sink(Arrays.copyOf(copy, 3)[0]);
        };
        both(body, body);
    }

    static void calendar() throws Exception {
        Calendar calendar = new GregorianCalendar();
        Map<String, Integer> map = new WeakHashMap<>();
        Body body = () -> {
            synchronized (calendar) {
                calendar.add(Calendar.YEAR, 1);
                map.put("a", calendar.get(Calendar.YEAR));
            }
        };
        both(body, body);
    }

    static void timers() throws Exception {
        Cell cell = new Cell();
        cell.value = 1;
        Timer timer = new Timer();
        CountDownLatch done = new CountDownLatch(2);
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                cell.value++;
                done.countDown();
            }
        }, 0, 1);
        done.await();
        timer.cancel();
    }

    static void invokeAll() throws Exception {
        Cell cell = new Cell();
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Callable<Integer> task = () -> {
            synchronized (cell) {
                return cell.value++;
            }
        };
        pool.invokeAll(Arrays.asList(task, task, task));
        sink(cell.value);
        pool.shutdown();
    }

    static void dependentStages() throws Exception {
        Cell cell = new Cell();
        CompletableFuture<Cell> stage = CompletableFuture.supplyAsync(() -> cell)
            .thenApply(c -> {
                c.value++;
                return c;
            });
        stage.join().value++;
    }

    static void drainedQueue() throws Exception {
        BlockingQueue<Cell> queue = new LinkedBlockingQueue<>();
        both(() -> {
            Cell cell = new Cell();
            cell.value = 1;
            queue.add(cell);
        }, () -> {
            List<Cell> cells = new ArrayList<>();
            while (cells.isEmpty()) {
                queue.drainTo(cells);
                Thread.yield();
            }
            cells.get(0).value++;
        });
    }

    static void viewsOfStampedLock() throws Exception {
        StampedLock lock = new StampedLock();
        Cell cell = new Cell();
        both(() -> {
            lock.asWriteLock().lock();
            cell.value++;
            lock.asWriteLock().unlock();
        }, () -> {
            Lock reader = lock.asReadWriteLock().readLock();
            if (reader.tryLock()) {
                sink(cell.value);
                reader.unlock();
            }
            long stamp = lock.writeLock();
            cell.value++;
            lock.unlockWrite(stamp);
        });
    }

    static void bothEndsOfDeque() throws Exception {
        LinkedBlockingDeque<Cell> deque = new LinkedBlockingDeque<>(1);
        both(() -> {
            for (int i = 0; i < 2; i++) {
                Cell cell = new Cell();
                cell.value = i;
                deque.putFirst(cell);
            }
        }, () -> {
            sink(deque.takeLast().value);
            sink(deque.takeFirst().value);
        });
    }

    static void removedFromQueue() throws Exception {
        BlockingQueue<Cell> queue = new LinkedBlockingQueue<>();
        Cell cell = new Cell();
        queue.put(cell);
        Body body = () -> {
            if (queue.remove(cell)) {
                cell.value++;
            }
        };
        both(body, body);
        sink(queue.remainingCapacity());
    }

    static void methodByReflection() throws Exception {
        Cell cell = new Cell();
        Method increment = GuardedHandovers.class.getDeclaredMethod("increment", Cell.class);
        both(() -> increment.invoke(null, cell), () -> increment.invoke(null, cell));
    }

    static int increment(Cell cell) {
        synchronized (cell) {
            return cell.value++;
        }
    }
}
