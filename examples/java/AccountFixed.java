/** {@link Account} with the check and the withdrawal in one critical section. */
public class AccountFixed {
    @interface Atomic {
    }

    private int balance;

    AccountFixed(int balance) {
        this.balance = balance;
    }

    synchronized int balance() {
        return balance;
    }

    synchronized void take(int amount) {
        balance -= amount;
        if (balance < 0) {
            throw new IllegalStateException("overdrawn: " + balance);
        }
    }

    synchronized void close() {
        balance = 0;
    }

    @Atomic
    synchronized void withdraw(int amount) {
        if (balance() >= amount) {
            take(amount);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        AccountFixed account = new AccountFixed(100);
        Thread customer = new Thread(() -> account.withdraw(80), "customer");
        Thread bank = new Thread(account::close, "bank");
        customer.start();
        bank.start();
        customer.join();
        bank.join();
        System.out.println("done");
    }
}
