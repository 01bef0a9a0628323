import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.*;

/** Read-write locks, conditions, latches, semaphores, barriers. */
public class Synchronizers extends Handover {
    private Synchronizers() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("readLockOfReader", Synchronizers::readLockOfReader)
            .run("downgrading", Synchronizers::downgrading)
            .run("readTryLock", Synchronizers::readTryLock)
            .run("stampedWrite", Synchronizers::stampedWrite)
            .run("condition", Synchronizers::condition)
            .run("conditionTimed", Synchronizers::conditionTimed)
            .run("latch", Synchronizers::latch)
            .run("latchPolled", Synchronizers::latchPolled)
            .run("latchTimed", Synchronizers::latchTimed)
            .run("semaphoreSignal", Synchronizers::semaphoreSignal)
            .run("semaphorePolled", Synchronizers::semaphorePolled)
            .run("drainPermits", Synchronizers::drainPermits)
            .run("barrier", Synchronizers::barrier)
            .run("barrierAction", Synchronizers::barrierAction)
            .run("phaser", Synchronizers::phaser)
            .run("phaserArrive", Synchronizers::phaserArrive)
            .run("parkUnpark", Synchronizers::parkUnpark)
            .run("tryLockThenMonitor", Synchronizers::tryLockThenMonitor)
            .run("monitorOfClass", Synchronizers::monitorOfClass);
    }

    static void readLockOfReader(boolean late) throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.writeLock().lock();
            slot[0] = b;
            lock.writeLock().unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.readLock().lock();
            try {
                return slot[0];
            } finally {
                lock.readLock().unlock();
            }
        }));
    }

    static void downgrading(boolean late) throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.writeLock().lock();
            slot[0] = b;
            lock.readLock().lock();
            lock.writeLock().unlock();
            int seen = slot[0].value;
            lock.readLock().unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.writeLock().lock();
            try {
                return slot[0];
            } finally {
                lock.writeLock().unlock();
            }
        }));
    }

    static void readTryLock(boolean late) throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.writeLock().lock();
            slot[0] = b;
            lock.writeLock().unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            if (!lock.readLock().tryLock()) {
                return null;
            }
            try {
                return slot[0];
            } finally {
                lock.readLock().unlock();
            }
        }));
    }

    static void stampedWrite(boolean late) throws Exception {
        StampedLock lock = new StampedLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            long stamp = lock.writeLock();
            slot[0] = b;
            lock.unlockWrite(stamp);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            long stamp = lock.readLock();
            try {
                return slot[0];
            } finally {
                lock.unlockRead(stamp);
            }
        }));
    }

    static void condition(boolean late) throws Exception {
        Lock lock = new ReentrantLock();
        Condition full = lock.newCondition();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            slot[0] = b;
            full.signal();
            lock.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            lock.lock();
            while (slot[0] == null) {
                full.await();
            }
            slot[0].use();
            lock.unlock();
        });
    }

    static void conditionTimed(boolean late) throws Exception {
        Lock lock = new ReentrantLock();
        Condition full = lock.newCondition();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            slot[0] = b;
            full.signalAll();
            lock.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            lock.lock();
            while (slot[0] == null) {
                full.await(1, TimeUnit.MILLISECONDS);
            }
            slot[0].use();
            lock.unlock();
        });
    }

    static void latch(boolean late) throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            latch.countDown();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            latch.await();
            box.use();
        });
    }

    static void latchPolled(boolean late) throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            latch.countDown();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> latch.getCount() == 0 ? box : null));
    }

    static void latchTimed(boolean late) throws Exception {
        CountDownLatch latch = new CountDownLatch(1);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            latch.countDown();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> latch.await(1, TimeUnit.MILLISECONDS) ? box : null));
    }

    static void semaphoreSignal(boolean late) throws Exception {
        Semaphore full = new Semaphore(0);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            full.release();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            full.acquire();
            box.use();
        });
    }

    static void semaphorePolled(boolean late) throws Exception {
        Semaphore full = new Semaphore(0);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            full.release();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> full.availablePermits() > 0 ? box : null));
    }

    static void drainPermits(boolean late) throws Exception {
        Semaphore full = new Semaphore(0);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            full.release();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> full.drainPermits() > 0 ? box : null));
    }

    static void barrier(boolean late) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            barrier.await();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            barrier.await();
            box.use();
        });
    }

    static void barrierAction(boolean late) throws Exception {
        Box box = new Box();
        CyclicBarrier barrier = new CyclicBarrier(2, () -> box.value++);
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            barrier.await();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            barrier.await();
            box.use();
        });
    }

    static void phaser(boolean late) throws Exception {
        Phaser phaser = new Phaser(2);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            phaser.arriveAndAwaitAdvance();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            phaser.arriveAndAwaitAdvance();
            box.use();
        });
    }

    static void phaserArrive(boolean late) throws Exception {
        Phaser phaser = new Phaser(1);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            phaser.arrive();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            phaser.awaitAdvance(0);
            box.use();
        });
    }

    static void parkUnpark(boolean late) throws Exception {
        AtomicReference<Thread> waiter = new AtomicReference<>();
        AtomicReference<Box> slot = new AtomicReference<>();
        both(() -> {
            Box b = Box.full();
            slot.set(b);
            LockSupport.unpark(waiter.get());
            if (late) {
                b.value = 7;
            }
        }, () -> {
            waiter.set(Thread.currentThread());
            while (slot.get() == null) {
                LockSupport.parkNanos(1000000);
            }
            slot.get().use();
        });
    }

    static void tryLockThenMonitor(boolean late) throws Exception {
        Lock lock = new ReentrantLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            synchronized (slot) {
                slot[0] = b;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            if (!lock.tryLock()) {
                return null;
            }
            try {
                synchronized (slot) {
                    return slot[0];
                }
            } finally {
                lock.unlock();
            }
        }));
    }

    static void monitorOfClass(boolean late) throws Exception {
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            synchronized (Synchronizers.class) {
                slot[0] = b;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (Synchronizers.class) {
                return slot[0];
            }
        }));
    }
}
