import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/** The main thread and both workers meet at a barrier of three parties. */
public class MeetingFixed {
    private static final CyclicBarrier MEETING = new CyclicBarrier(3);

    private static void meet() {
        try {
            MEETING.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread first = new Thread(MeetingFixed::meet);
        Thread second = new Thread(MeetingFixed::meet);
        first.start();
        second.start();
        meet();
        first.join();
        second.join();
        System.out.println("met");
    }
}
