/** Two threads take the same two locks in different orders. */
public class LockOrder {
    private int balance = 100;

    static void move(LockOrder from, LockOrder to, int amount) {
        synchronized (from) {
            synchronized (to) {
                from.balance -= amount;
                to.balance += amount;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        LockOrder a = new LockOrder();
        LockOrder b = new LockOrder();
        Thread there = new Thread(() -> move(a, b, 10));
        Thread back = new Thread(() -> move(b, a, 10));
        there.start();
        back.start();
        there.join();
        back.join();
        System.out.println("moved");
    }
}
