import java.util.concurrent.Semaphore;

/**
 * Two jobs need two connections each and take them one by one: each may get one and wait for ever
 * for its second.
 */
public class Permits {
    private static final Semaphore CONNECTIONS = new Semaphore(2);

    private static void copy() {
        CONNECTIONS.acquireUninterruptibly();
        CONNECTIONS.acquireUninterruptibly();
        CONNECTIONS.release();
        CONNECTIONS.release();
    }

    public static void main(String[] args) throws InterruptedException {
        Thread first = new Thread(Permits::copy);
        Thread second = new Thread(Permits::copy);
        first.start();
        second.start();
        first.join();
        second.join();
        System.out.println("copied");
    }
}
