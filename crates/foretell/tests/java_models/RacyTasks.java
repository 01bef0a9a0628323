import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.StampedLock;
import java.util.stream.IntStream;

/** Tasks that share a field without a lock, and locks that are used wrongly. */
public class RacyTasks extends Scenarios {
    static class Cell {
        int value;
    }

    private static final VarHandle VALUE;

    static {
        try {
            VALUE = MethodHandles.lookup().findVarHandle(Cell.class, "value", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    public static void main(String[] names) throws Exception {
        run(RacyTasks.class, names);
    }

    static void parallelStream() throws Exception {
        Cell cell = new Cell();
        IntStream.range(0, 32).parallel().forEach(i -> {
            cell.value += i;
        });
    }

    static void parallelStreamIntoList() throws Exception {
        List<Integer> list = new ArrayList<>();
        IntStream.range(0, 32).parallel().forEach(i -> {
            list.add(i);
        });
    }

    static void forkJoin() throws Exception {
        Cell cell = new Cell();
        class Sum extends RecursiveAction {
            final int from;
            final int to;

            Sum(int from, int to) {
                this.from = from;
                this.to = to;
            }

            @Override
            protected void compute() {
                if (to - from <= 2) {
                    cell.value += to - from;
                } else {
                    int middle = (from + to) / 2;
                    invokeAll(new Sum(from, middle), new Sum(middle, to));
                }
            }
        }
        ForkJoinPool pool = new ForkJoinPool(3);
        pool.invoke(new Sum(0, 16));
        pool.shutdown();
    }

    static void asynchronousStages() throws Exception {
        Cell cell = new Cell();
        CompletableFuture<Void> a = CompletableFuture.runAsync(() -> {
            cell.value++;
        });
        CompletableFuture<Void> b = CompletableFuture.runAsync(() -> {
            cell.value++;
        });
        CompletableFuture.allOf(a, b).join();
    }

    static void callback() throws Exception {
        Cell cell = new Cell();
        CompletableFuture<Void> a = CompletableFuture.supplyAsync(() -> 1).thenAccept(n -> {
            cell.value = n;
        });
        cell.value = 2;
        a.join();
    }

    static void scheduled() throws Exception {
        Cell cell = new Cell();
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(2);
        for (int i = 0; i < 2; i++) {
            pool.schedule(() -> {
                cell.value++;
            }, 1, TimeUnit.MILLISECONDS);
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.SECONDS);
    }

    static void plainHandle() throws Exception {
        Cell cell = new Cell();
        both(() -> VALUE.set(cell, 1), () -> VALUE.set(cell, 2));
    }

    static void stampedReaders() throws Exception {
        StampedLock lock = new StampedLock();
        Cell cell = new Cell();
        Body increment = () -> {
            long stamp = lock.readLock();
            cell.value++;
            lock.unlockRead(stamp);
        };
        both(increment, increment);
    }

    static void semaphoresInOppositeOrders() throws Exception {
        Semaphore a = new Semaphore(1);
        Semaphore b = new Semaphore(1);
        both(() -> {
            a.acquire();
            b.acquire();
            b.release();
            a.release();
        }, () -> {
            b.acquire();
            a.acquire();
            a.release();
            b.release();
        });
    }

    static void listsAppendedToEachOther() throws Exception {
        List<Integer> a = Collections.synchronizedList(new ArrayList<>(Arrays.asList(1)));
        List<Integer> b = Collections.synchronizedList(new ArrayList<>(Arrays.asList(2)));
        both(() -> a.addAll(b), () -> b.addAll(a));
    }

    static void buffersAppendedToEachOther() throws Exception {
        StringBuffer a = new StringBuffer("a");
        StringBuffer b = new StringBuffer("b");
        both(() -> a.append(b), () -> b.append(a));
    }

    static void afterBarrierAction() throws Exception {
        Cell cell = new Cell();
        CyclicBarrier barrier = new CyclicBarrier(2, () -> {
            cell.value++;
        });
        both(() -> {
            barrier.await();
            sink(cell.value);
        }, () -> {
            barrier.await();
            cell.value = 2;
        });
    }
}
