import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/** The flag is set in the section that signals. */
public class LostWakeupFixed {
    private static final Lock LOCK = new ReentrantLock();
    private static final Condition CHANGED = LOCK.newCondition();
    private static volatile boolean ready;

    public static void main(String[] args) throws InterruptedException {
        Thread producer = new Thread(() -> {
            LOCK.lock();
            try {
                ready = true;
                CHANGED.signal();
            } finally {
                LOCK.unlock();
            }
        });
        producer.start();
        LOCK.lock();
        try {
            while (!ready) {
                CHANGED.awaitUninterruptibly();
            }
        } finally {
            LOCK.unlock();
        }
        producer.join();
        System.out.println("ready");
    }
}
