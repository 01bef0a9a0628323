/** The main thread joins the worker while it holds the monitor that the worker needs. */
public class JoinLock {
    private static final Object LOCK = new Object();
    private static int done;

    public static void main(String[] args) throws InterruptedException {
        Thread worker = new Thread(() -> {
            synchronized (LOCK) {
                done++;
            }
        });
        worker.start();
        synchronized (LOCK) {
            done++;
        }
        Thread.sleep(10); // Long enough for the worker, mostly.
        synchronized (LOCK) {
            worker.join();
            System.out.println(done + " done");
        }
    }
}
