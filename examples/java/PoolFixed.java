import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** {@link Pool} with an atomic counter, and futures to wait for. */
public class PoolFixed {
    private static final AtomicInteger DONE = new AtomicInteger();

    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Future<?>[] tasks = new Future<?>[2];
        for (int i = 0; i < 2; i++) {
            tasks[i] = pool.submit(() -> DONE.incrementAndGet());
        }
        for (Future<?> task : tasks) {
            task.get();
        }
        pool.shutdown();
        if (DONE.get() != 2) {
            System.exit(1);
        }
        System.out.println("all done");
    }
}
