import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The flag is set outside the section that signals: the signal may come between the check and the
 * wait.
 */
public class LostWakeup {
    private static final Lock LOCK = new ReentrantLock();
    private static final Condition CHANGED = LOCK.newCondition();
    private static volatile boolean ready;

    public static void main(String[] args) throws InterruptedException {
        Thread producer = new Thread(() -> {
            LOCK.lock();
            try {
                CHANGED.signal();
            } finally {
                LOCK.unlock();
            }
            ready = true;
        });
        producer.start();
        LOCK.lock();
        try {
            if (!ready) {
                CHANGED.awaitUninterruptibly();
            }
        } finally {
            LOCK.unlock();
        }
        producer.join();
        System.out.println("ready");
    }
}
