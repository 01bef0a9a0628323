import java.util.concurrent.atomic.AtomicInteger;

/** ABA: a lock-free stack whose nodes are pushed again while a pop looks at them. */
class AbaStack {
    static final int[] next = new int[4];
    static final AtomicInteger top = new AtomicInteger();
    static final AtomicInteger[] owners = {
        new AtomicInteger(), new AtomicInteger(), new AtomicInteger(), new AtomicInteger()
    };

    static void push(int node) {
        int seen;
        do {
            seen = top.get();
            next[node] = seen;
        } while (!top.compareAndSet(seen, node));
    }

    static int pop() {
        int seen;
        int after;
        do {
            seen = top.get();
            if (seen == 0) {
                return 0;
            }
            after = next[seen];
        } while (!top.compareAndSet(seen, after));
        return seen;
    }

    static int take() {
        int node = pop();
        if (node != 0 && owners[node].getAndIncrement() != 0) {
            throw new AssertionError("two owners");
        }
        return node;
    }

    static void twiceAndBack() {
        int first = take();
        take();
        if (first != 0) {
            owners[first].decrementAndGet();
            push(first);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        push(1);
        push(2);
        push(3);
        Thread a = new Thread(() -> take());
        Thread b = new Thread(AbaStack::twiceAndBack);
        a.start();
        b.start();
        a.join();
        b.join();
        take();
        take();
    }
}
