/** {@link MissedSignal} where the flag belongs to the lock. */
public class MissedSignalFixed {
    private static final Object LOCK = new Object();
    private static boolean ready;

    public static void main(String[] args) throws InterruptedException {
        Thread waiter = new Thread(() -> {
            synchronized (LOCK) {
                while (!ready) {
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
        synchronized (LOCK) {
            ready = true;
            LOCK.notify();
        }
        waiter.join();
    }
}
