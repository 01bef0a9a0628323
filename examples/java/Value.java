/**
 * The example of the paper on witnesses for data races: `add` is synchronized, `get` is not, and
 * two values are added to each other.
 */
public class Value {
    private int x = 1;

    public synchronized void add(Value v) {
        x = x + v.get();
    }

    public int get() {
        return x;
    }

    static class Task extends Thread {
        final Value v1;
        final Value v2;

        Task(Value v1, Value v2) {
            this.v1 = v1;
            this.v2 = v2;
        }

        @Override
        public void run() {
            v1.add(v2);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Value a = new Value();
        Value b = new Value();
        Thread t2 = new Thread(new Task(a, b));
        Thread t3 = new Thread(new Task(b, a));
        t2.start();
        t3.start();
        t2.join();
        t3.join();
        System.out.println(a.get() + b.get() == 5 ? "one after the other" : "both at once");
    }
}
