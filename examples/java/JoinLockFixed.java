/** The main thread joins the worker before it takes the monitor. */
public class JoinLockFixed {
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
        worker.join();
        synchronized (LOCK) {
            System.out.println(done + " done");
        }
    }
}
