import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/** Locks and semaphores used as locks, by every way of calling them. */
public class Locks extends Handover {
    private Locks() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("reentrantLock", Locks::reentrantLock)
            .run("lockTyped", Locks::lockTyped)
            .run("lockInterruptibly", Locks::lockInterruptibly)
            .run("tryLockLoop", Locks::tryLockLoop)
            .run("tryLockTimed", Locks::tryLockTimed)
            .run("writeLock", Locks::writeLock)
            .run("lockSubclass", Locks::lockSubclass)
            .run("lockSubclassOverrides", Locks::lockSubclassOverrides)
            .run("anonymousLock", Locks::anonymousLock)
            .run("lockMethodReference", Locks::lockMethodReference)
            .run("synchronizerOfItsOwn", Locks::synchronizerOfItsOwn)
            .run("semaphoreAsLock", Locks::semaphoreAsLock)
            .run("semaphoreTryAcquire", Locks::semaphoreTryAcquire)
            .run("semaphoreTwoPermits", Locks::semaphoreTwoPermits)
            .run("reentrant", Locks::reentrant)
            .run("tryLockOrder", Locks::tryLockOrder);
    }

    /** A lock that inherits everything. */
    static final class OwnLock extends ReentrantLock {
    }

    /** A lock that counts. */
    static final class CountingLock extends ReentrantLock {
        private int locked;

        @Override
        public void lock() {
            super.lock();
            locked++;
        }
    }

    /** A mutex made from a synchronizer. */
    static final class Mutex extends AbstractQueuedSynchronizer {
        @Override
        protected boolean tryAcquire(int ignored) {
            return compareAndSetState(0, 1);
        }

        @Override
        protected boolean tryRelease(int ignored) {
            setState(0);
            return true;
        }
    }

    static void reentrantLock(boolean late) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            try {
                slot[0] = b;
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.lock();
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        }));
    }

    static void lockTyped(boolean late) throws Exception {
        Lock lock = new ReentrantLock(true);
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            try {
                slot[0] = b;
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.lock();
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        }));
    }

    static void lockInterruptibly(boolean late) throws Exception {
        Lock lock = new ReentrantLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lockInterruptibly();
            try {
                slot[0] = b;
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.lockInterruptibly();
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        }));
    }

    static void tryLockLoop(boolean late) throws Exception {
        Lock lock = new ReentrantLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            while (!lock.tryLock()) {
                Thread.yield();
            }
            try {
                slot[0] = b;
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            while (!lock.tryLock()) {
                Thread.yield();
            }
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        }));
    }

    static void tryLockTimed(boolean late) throws Exception {
        Lock lock = new ReentrantLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            while (!lock.tryLock(1, TimeUnit.SECONDS)) {
                Thread.yield();
            }
            try {
                slot[0] = b;
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            while (!lock.tryLock(1, TimeUnit.SECONDS)) {
                Thread.yield();
            }
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        }));
    }

    static void writeLock(boolean late) throws Exception {
        ReadWriteLock lock = new ReentrantReadWriteLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.writeLock().lock();
            try {
                slot[0] = b;
            } finally {
                lock.writeLock().unlock();
            }
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

    static void lockSubclass(boolean late) throws Exception {
        OwnLock lock = new OwnLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            try {
                slot[0] = b;
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.lock();
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        }));
    }

    static void lockSubclassOverrides(boolean late) throws Exception {
        CountingLock lock = new CountingLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            try {
                slot[0] = b;
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.lock();
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        }));
    }

    static void anonymousLock(boolean late) throws Exception {
        Lock lock = new ReentrantLock() {
        };
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            try {
                slot[0] = b;
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.lock();
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        }));
    }

    static void lockMethodReference(boolean late) throws Exception {
        Lock lock = new ReentrantLock();
        Runnable take = lock::lock;
        Runnable give = lock::unlock;
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            take.run();
            try {
                slot[0] = b;
            } finally {
                give.run();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            take.run();
            try {
                return slot[0];
            } finally {
                give.run();
            }
        }));
    }

    static void synchronizerOfItsOwn(boolean late) throws Exception {
        Mutex lock = new Mutex();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.acquire(1);
            try {
                slot[0] = b;
            } finally {
                lock.release(1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.acquire(1);
            try {
                return slot[0];
            } finally {
                lock.release(1);
            }
        }));
    }

    static void semaphoreAsLock(boolean late) throws Exception {
        Semaphore lock = new Semaphore(1);
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.acquire();
            try {
                slot[0] = b;
            } finally {
                lock.release();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.acquire();
            try {
                return slot[0];
            } finally {
                lock.release();
            }
        }));
    }

    static void semaphoreTryAcquire(boolean late) throws Exception {
        Semaphore lock = new Semaphore(1);
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            while (!lock.tryAcquire()) {
                Thread.yield();
            }
            try {
                slot[0] = b;
            } finally {
                lock.release();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            while (!lock.tryAcquire()) {
                Thread.yield();
            }
            try {
                return slot[0];
            } finally {
                lock.release();
            }
        }));
    }

    static void semaphoreTwoPermits(boolean late) throws Exception {
        Semaphore lock = new Semaphore(2);
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.acquireUninterruptibly(2);
            try {
                slot[0] = b;
            } finally {
                lock.release(2);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.acquireUninterruptibly(2);
            try {
                return slot[0];
            } finally {
                lock.release(2);
            }
        }));
    }

    static void reentrant(boolean late) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            lock.lock();
            lock.unlock();
            try {
                slot[0] = b;
            } finally {
                lock.unlock();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            lock.lock();
            lock.lock();
            lock.unlock();
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        }));
    }

    static void tryLockOrder(boolean late) throws Exception {
        Lock one = new ReentrantLock();
        Lock two = new ReentrantLock();
        Box box = Box.full();
        both(() -> {
            one.lock();
            if (two.tryLock()) {
                box.value++;
                two.unlock();
            }
            one.unlock();
            if (late) {
                box.value = 7;
            }
        }, () -> {
            two.lock();
            if (one.tryLock()) {
                box.value++;
                one.unlock();
            }
            two.unlock();
            if (late) {
                box.value = 7;
            }
        });
    }
}
