/** A bounded buffer whose consumer tests with `if` instead of `while`. */
class BufferWithIf {
    static final Object lock = new Object();
    static int count;

    static void consume() {
        synchronized (lock) {
            if (count == 0) {
                try {
                    lock.wait();
                } catch (InterruptedException e) {
                    return;
                }
            }
            if (count == 0) {
                throw new AssertionError("the buffer is empty");
            }
            count--;
        }
    }

    static void produce() {
        for (int i = 0; i < 2; i++) {
            synchronized (lock) {
                count++;
                lock.notify();
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(BufferWithIf::consume);
        Thread b = new Thread(BufferWithIf::consume);
        Thread c = new Thread(BufferWithIf::produce);
        a.start();
        b.start();
        c.start();
        a.join();
        b.join();
        c.join();
    }
}
