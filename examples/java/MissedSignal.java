/** The flag is read outside the lock: the signal may come between the read and the wait. */
public class MissedSignal {
    private static final Object LOCK = new Object();
    private static boolean ready;

    public static void main(String[] args) throws InterruptedException {
        Thread waiter = new Thread(() -> {
            if (!ready) {
                synchronized (LOCK) {
                    try {
                        LOCK.wait();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
            System.out.println("ready");
        });
        waiter.start();
        ready = true;
        synchronized (LOCK) {
            LOCK.notify();
        }
        waiter.join();
    }
}
