/** The balance is checked in one critical section, and the money is taken in another. */
public class Account {
    @interface Atomic {
    }

    private int balance;

    Account(int balance) {
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
    void withdraw(int amount) {
        if (balance() >= amount) {
            take(amount);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Account account = new Account(100);
        Thread customer = new Thread(() -> account.withdraw(80), "customer");
        Thread bank = new Thread(account::close, "bank");
        customer.start();
        bank.start();
        customer.join();
        bank.join();
        System.out.println("done");
    }
}
