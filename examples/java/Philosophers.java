/** Each takes the left fork, then the right one: all may have the left one and wait for ever. */
public class Philosophers {
    static class Fork {
        int used;
    }

    public static void main(String[] args) throws InterruptedException {
        int n = 3;
        Fork[] forks = new Fork[n];
        for (int i = 0; i < n; i++) {
            forks[i] = new Fork();
        }
        Thread[] threads = new Thread[n];
        for (int i = 0; i < n; i++) {
            Fork left = forks[i];
            Fork right = forks[(i + 1) % n];
            threads[i] = new Thread(() -> eat(left, right), "philosopher " + i);
            threads[i].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println("all have eaten");
    }

    static void eat(Fork left, Fork right) {
        synchronized (left) {
            synchronized (right) {
                left.used++;
                right.used++;
            }
        }
    }
}
