/** {@link LockOrder} where the lock of the account with the smaller number is taken first. */
public class LockOrderFixed {
    private final int number;
    private int balance = 100;

    LockOrderFixed(int number) {
        this.number = number;
    }

    static void move(LockOrderFixed from, LockOrderFixed to, int amount) {
        LockOrderFixed first = from.number < to.number ? from : to;
        LockOrderFixed second = first == from ? to : from;
        synchronized (first) {
            synchronized (second) {
                from.balance -= amount;
                to.balance += amount;
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        LockOrderFixed a = new LockOrderFixed(1);
        LockOrderFixed b = new LockOrderFixed(2);
        Thread there = new Thread(() -> move(a, b, 10));
        Thread back = new Thread(() -> move(b, a, 10));
        there.start();
        back.start();
        there.join();
        back.join();
        System.out.println("moved");
    }
}
