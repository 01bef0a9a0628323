/** {@link Philosophers}, where the forks are taken in the order of their numbers. */
public class PhilosophersFixed {
    static class Fork {
        final int number;
        int used;

        Fork(int number) {
            this.number = number;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int n = 3;
        Fork[] forks = new Fork[n];
        for (int i = 0; i < n; i++) {
            forks[i] = new Fork(i);
        }
        Thread[] threads = new Thread[n];
        for (int i = 0; i < n; i++) {
            Fork a = forks[i];
            Fork b = forks[(i + 1) % n];
            Fork first = a.number < b.number ? a : b;
            Fork second = first == a ? b : a;
            threads[i] = new Thread(() -> eat(first, second), "philosopher " + i);
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("all have eaten");
    }

    static void eat(Fork first, Fork second) {
        synchronized (first) {
            synchronized (second) {
                first.used++;
                second.used++;
            }
        }
    }
}
