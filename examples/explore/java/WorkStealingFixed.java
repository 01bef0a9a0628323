import java.util.concurrent.atomic.AtomicInteger;

/** A work-stealing queue whose owner takes the lock as well. */
class WorkStealingFixed {
    static final Object lock = new Object();
    static volatile int head;
    static volatile int tail;
    static final int[] elements = new int[8];
    static final AtomicInteger[] taken = {new AtomicInteger(), new AtomicInteger()};

    static void push(int element) {
        int at = tail;
        elements[at % 8] = element;
        tail = at + 1;
    }

    static int pop() {
        synchronized (lock) {
            int at = tail - 1;
            if (head > at) {
                return -1;
            }
            tail = at;
            return elements[at % 8];
        }
    }

    static int steal() {
        synchronized (lock) {
            int at = head;
            if (at >= tail) {
                return -1;
            }
            head = at + 1;
            return elements[at % 8];
        }
    }

    static void count(int element) {
        if (element >= 0) {
            taken[element].incrementAndGet();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread thief = new Thread(() -> count(steal()));
        thief.start();
        push(0);
        push(1);
        count(pop());
        count(pop());
        thief.join();
        if (taken[0].get() != 1 || taken[1].get() != 1) {
            throw new AssertionError("an element was taken twice, or never");
        }
    }
}
