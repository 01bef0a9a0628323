import java.util.concurrent.atomic.AtomicIntegerArray;

/** Peterson's algorithm: no schedule loses an update. */
class PetersonFixed {
    static final AtomicIntegerArray wants = new AtomicIntegerArray(2);
    static volatile int turn;
    static int count;

    static void add(int self) {
        int other = 1 - self;
        wants.set(self, 1);
        turn = other;
        while (wants.get(other) == 1 && turn == other) {
            Thread.onSpinWait();
        }
        count++;
        wants.set(self, 0);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(() -> add(0));
        Thread b = new Thread(() -> add(1));
        a.start();
        b.start();
        a.join();
        b.join();
        if (count != 2) {
            throw new AssertionError("an update was lost");
        }
    }
}
