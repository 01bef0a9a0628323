import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Tasks of a pool count without a lock: a count may be lost. */
public class Pool {
    private static int done;

    public static void main(String[] args) throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (int i = 0; i < 2; i++) {
            pool.execute(() -> done++);
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        if (done != 2) {
            System.exit(1);
        }
        System.out.println("all done");
    }
}
