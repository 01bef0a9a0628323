import java.util.concurrent.Semaphore;

/** A job takes its two connections in one call. */
public class PermitsFixed {
    private static final Semaphore CONNECTIONS = new Semaphore(2);

    private static void copy() {
        CONNECTIONS.acquireUninterruptibly(2);
        CONNECTIONS.release(2);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread first = new Thread(PermitsFixed::copy);
        Thread second = new Thread(PermitsFixed::copy);
        first.start();
        second.start();
        first.join();
        second.join();
        System.out.println("copied");
    }
}
