/** Double-checked locking without volatile: a race, harmless in sequentially consistent memory. */
public class DoubleChecked {
    private static DoubleChecked instance;
    private int answer;

    DoubleChecked() {
        answer = 42;
    }

    static DoubleChecked instance() {
        if (instance == null) {
            synchronized (DoubleChecked.class) {
                if (instance == null) {
                    instance = new DoubleChecked();
                }
            }
        }
        return instance;
    }

    public static void main(String[] args) throws InterruptedException {
        Runnable use = () -> {
            if (instance().answer != 42) {
                throw new IllegalStateException("half made");
            }
        };
        Thread a = new Thread(use);
        Thread b = new Thread(use);
        a.start();
        b.start();
        a.join();
        b.join();
        System.out.println("42");
    }
}
