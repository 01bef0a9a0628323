import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/**
 * The main thread meets each of two workers at a barrier of two parties. The workers may meet each
 * other instead, and the main thread waits for ever.
 */
public class Meeting {
    private static final CyclicBarrier MEETING = new CyclicBarrier(2);

    private static void meet() {
        try {
            MEETING.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread first = new Thread(Meeting::meet);
        Thread second = new Thread(Meeting::meet);
        first.start();
        second.start();
        meet();
        meet();
        first.join();
        second.join();
        System.out.println("met");
    }
}
