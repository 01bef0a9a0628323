/** {@link DoubleChecked} with volatile, as it should be. */
public class DoubleCheckedFixed {
    private static volatile DoubleCheckedFixed instance;
    private int answer;

    DoubleCheckedFixed() {
        answer = 42;
    }

    static DoubleCheckedFixed instance() {
        if (instance == null) {
            synchronized (DoubleCheckedFixed.class) {
                if (instance == null) {
                    instance = new DoubleCheckedFixed();
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
