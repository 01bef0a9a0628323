/** A bounded buffer with wait and notifyAll in loops: correct. */
public class BoundedBuffer {
    private final int[] items = new int[2];
    private int count;
    private int in;
    private int out;

    synchronized void put(int item) throws InterruptedException {
        while (count == items.length) {
            wait();
        }
        items[in] = item;
        in = (in + 1) % items.length;
        count++;
        notifyAll();
    }

    synchronized int take() throws InterruptedException {
        while (count == 0) {
            wait();
        }
        int item = items[out];
        out = (out + 1) % items.length;
        count--;
        notifyAll();
        return item;
    }

    public static void main(String[] args) throws InterruptedException {
        BoundedBuffer buffer = new BoundedBuffer();
        int n = 6;
        int[] sum = new int[1];
        Thread producer = new Thread(() -> {
            try {
                for (int i = 1; i <= n; i++) {
                    buffer.put(i);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        Thread consumer = new Thread(() -> {
            try {
                for (int i = 1; i <= n; i++) {
                    sum[0] += buffer.take();
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        producer.start();
        consumer.start();
        producer.join();
        consumer.join();
        System.out.println("sum " + sum[0]);
        if (sum[0] != n * (n + 1) / 2) {
            System.exit(1);
        }
    }
}
