/** A lost update between two critical sections: each is locked, the pair of them is not. */
class TwoSections {
    static final Object lock = new Object();
    static int count;

    static void add() {
        int seen;
        synchronized (lock) {
            seen = count;
        }
        synchronized (lock) {
            count = seen + 1;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(TwoSections::add);
        Thread b = new Thread(TwoSections::add);
        a.start();
        b.start();
        a.join();
        b.join();
        if (count != 2) {
            throw new AssertionError("an update was lost");
        }
    }
}
