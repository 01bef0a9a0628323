/** {@link Value} with one lock for both values, and the order of the two additions fixed. */
public class ValueFixed {
    private static final Object LOCK = new Object();
    private int x = 1;

    public void add(ValueFixed v) {
        synchronized (LOCK) {
            x = x + v.get();
        }
    }

    public int get() {
        synchronized (LOCK) {
            return x;
        }
    }

    static class Task extends Thread {
        final ValueFixed v1;
        final ValueFixed v2;

        Task(ValueFixed v1, ValueFixed v2) {
            this.v1 = v1;
            this.v2 = v2;
        }

        @Override
        public void run() {
            v1.add(v2);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        ValueFixed a = new ValueFixed();
        ValueFixed b = new ValueFixed();
        Thread t2 = new Thread(new Task(a, b));
        Thread t3 = new Thread(new Task(b, a));
        t2.start();
        t3.start();
        t2.join();
        t3.join();
        System.out.println(a.get() + b.get() == 5 ? "one after the other" : "both at once");
    }
}
