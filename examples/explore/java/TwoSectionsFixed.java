/** An update in one critical section. */
class TwoSectionsFixed {
    static final Object lock = new Object();
    static int count;

    static void add() {
        int seen;
        synchronized (lock) {
            seen = count;
            count = seen + 1;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread a = new Thread(TwoSectionsFixed::add);
        Thread b = new Thread(TwoSectionsFixed::add);
        a.start();
        b.start();
        a.join();
        b.join();
        if (count != 2) {
            throw new AssertionError("an update was lost");
        }
    }
}
