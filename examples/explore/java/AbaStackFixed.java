import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;

/** A lock-free stack whose top has a version, so that a pop sees that a node was pushed again. */
class AbaStackFixed {
    static final AtomicIntegerArray next = new AtomicIntegerArray(4);
    /** The first node, and 4 times the number of changes. */
    static final AtomicInteger top = new AtomicInteger();
    static final AtomicInteger[] owners = {
        new AtomicInteger(), new AtomicInteger(), new AtomicInteger(), new AtomicInteger()
    };

    static void push(int node) {
        int seen;
        do {
            seen = top.get();
            next.set(node, seen % 4);
        } while (!top.compareAndSet(seen, (seen / 4 + 1) * 4 + node));
    }

    static int pop() {
        int seen;
        int after;
        do {
            seen = top.get();
            if (seen % 4 == 0) {
                return 0;
            }
            after = next.get(seen % 4);
        } while (!top.compareAndSet(seen, (seen / 4 + 1) * 4 + after));
        return seen % 4;
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
        Thread b = new Thread(AbaStackFixed::twiceAndBack);
        a.start();
        b.start();
        a.join();
        b.join();
        take();
        take();
    }
}
