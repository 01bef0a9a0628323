/** A bounded buffer whose consumer tests again when it was woken. */
class BufferWithIfFixed {
    static final Object lock = new Object();
    static int count;

    static void consume() {
        synchronized (lock) {
            while (count == 0) {
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
        Thread a = new Thread(BufferWithIfFixed::consume);
        Thread b = new Thread(BufferWithIfFixed::consume);
        Thread c = new Thread(BufferWithIfFixed::produce);
        a.start();
        b.start();
        c.start();
        a.join();
        b.join();
        c.join();
    }
}
