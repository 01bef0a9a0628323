import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** Helpers of the scenarios. Each is correct; with the argument "bug" it is its buggy twin. */
abstract class Scenario {
    /** An item. Its hash code is the same in every run, so that a set has one order. */
    static final class Item {
        int value;

        @Override
        public int hashCode() {
            return 1;
        }
    }

    static boolean bug;
    static int data, seen;
    static final Object lock = new Object();

    /** Runs two tasks in two threads and waits for both. */
    static void both(Runnable first, Runnable second) throws InterruptedException {
        Thread a = new Thread(first), b = new Thread(second);
        a.start();
        b.start();
        a.join();
        b.join();
    }

    /** Writes data and passes it on; the buggy twin passes it on before it is written. */
    static void handOver(Runnable pass) {
        if (bug) {
            pass.run();
            data = 42;
        } else {
            data = 42;
            pass.run();
        }
    }

    /** Hands data over by one call that passes it on and one that waits for it. */
    static void pass(Runnable pass, Runnable take) throws InterruptedException {
        both(() -> handOver(pass), () -> {
            take.run();
            seen = data;
        });
    }

    /** Hands data over by one call that passes it on and one that is repeated until it is true. */
    static void poll(Runnable pass, BooleanSupplier passed) throws InterruptedException {
        pass(pass, () -> {
            while (!passed.getAsBoolean()) Thread.yield();
        });
    }

    /** Like poll, with both calls under a monitor. */
    static void pollLocked(Runnable pass, BooleanSupplier passed) throws InterruptedException {
        poll(() -> {
            synchronized (lock) {
                pass.run();
            }
        }, () -> {
            synchronized (lock) {
                return passed.getAsBoolean();
            }
        });
    }

    /** Hands three items over by a container; take gives null where there is none. */
    static void items(Consumer<Item> put, Supplier<Item> take) throws InterruptedException {
        both(() -> {
            for (int i = 1; i <= 3; i++) {
                Item item = new Item();
                if (!bug) item.value = i;
                put.accept(item);
                if (bug) item.value = i;
            }
        }, () -> {
            for (int i = 1; i <= 3;) {
                Item item = take.get();
                if (item == null) {
                    Thread.yield();
                } else {
                    seen += item.value;
                    i++;
                }
            }
        });
    }

    /** Like items, with both calls under a monitor. */
    static void itemsLocked(Consumer<Item> put, Supplier<Item> take) throws InterruptedException {
        items(item -> {
            synchronized (lock) {
                put.accept(item);
            }
        }, () -> {
            synchronized (lock) {
                return take.get();
            }
        });
    }

    /** Counts in two threads between two calls; the twin's second thread forgets them. */
    static void count(Runnable enter, Runnable leave) throws InterruptedException {
        both(() -> {
            for (int i = 0; i < 3; i++) {
                enter.run();
                data++;
                leave.run();
            }
        }, () -> {
            for (int i = 0; i < 3; i++) {
                if (!bug) enter.run();
                data++;
                if (!bug) leave.run();
            }
        });
        seen = data;
    }

    /** Ends the program: with status 3 unless it is the twin or the answer is the expected one. */
    static void end(String expected) {
        System.out.println(seen);
        if (!bug && seen != Integer.parseInt(expected)) System.exit(3);
    }
}
