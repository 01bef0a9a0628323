import java.lang.invoke.*;
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

/** Locks of other kinds, and questions to locks. */
class LockKinds extends MoreLocks {
    static void stampedReadWrite(boolean late) throws Exception {
        StampedLock lock = new StampedLock();
        Box[] slot = new Box[1];
        pass(b -> {
            long s = lock.writeLock();
            slot[0] = b;
            lock.unlockWrite(s);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            long s = lock.readLock();
            try {
                return slot[0];
            } finally {
                lock.unlock(s);
            }
        });
    }

    static void stampedViews(boolean late) throws Exception {
        StampedLock lock = new StampedLock();
        Lock write = lock.asWriteLock();
        Lock read = lock.asReadLock();
        Box[] slot = new Box[1];
        pass(b -> {
            write.lock();
            slot[0] = b;
            write.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            read.lock();
            try {
                return slot[0];
            } finally {
                read.unlock();
            }
        });
    }

    static void stampedReadWriteView(boolean late) throws Exception {
        ReadWriteLock lock = new StampedLock().asReadWriteLock();
        Box[] slot = new Box[1];
        pass(b -> {
            lock.writeLock().lock();
            slot[0] = b;
            lock.writeLock().unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            lock.readLock().lock();
            try {
                return slot[0];
            } finally {
                lock.readLock().unlock();
            }
        });
    }

    static void stampedTryView(boolean late) throws Exception {
        Lock lock = new StampedLock().asWriteLock();
        Box[] slot = new Box[1];
        pass(b -> {
            while (!lock.tryLock()) {
                Thread.yield();
            }
            slot[0] = b;
            lock.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            if (!lock.tryLock(1, TimeUnit.SECONDS)) {
                return null;
            }
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        });
    }

    static void stampedConvert(boolean late) throws Exception {
        StampedLock lock = new StampedLock();
        Box[] slot = new Box[1];
        pass(b -> {
            long s = lock.readLock();
            long w = lock.tryConvertToWriteLock(s);
            if (w == 0) {
                lock.unlockRead(s);
                w = lock.writeLock();
            }
            slot[0] = b;
            lock.unlockWrite(w);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            long s = lock.writeLock();
            try {
                return slot[0];
            } finally {
                lock.unlockWrite(s);
            }
        });
    }

    static void isLocked(boolean late) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            lock.lock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(lock::isLocked);
            b.use();
        });
    }

    static void hasQueuedThreads(boolean late) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Box b = new Box();
        lock.lock();
        Thread t = start(() -> {
            b.value = 1;
            lock.lock();
            lock.unlock();
        });
        until(() -> lock.hasQueuedThread(t));
        if (!late) {
            lock.unlock();
            t.join();
            b.use();
        } else {
            lock.unlock();
            b.use();
            t.join();
        }
    }

    static void fairLock(boolean late) throws Exception {
        Lock lock = new ReentrantLock(true);
        Box[] slot = new Box[1];
        pass(b -> {
            lock.lock();
            slot[0] = b;
            lock.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            lock.lockInterruptibly();
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        });
    }

    static void nestedLocks(boolean late) throws Exception {
        Lock outer = new ReentrantLock();
        Object inner = new Object();
        Box[] slot = new Box[1];
        pass(b -> {
            outer.lock();
            synchronized (inner) {
                slot[0] = b;
            }
            outer.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            synchronized (inner) {
                return slot[0];
            }
        });
    }

    static void conditionNanos(boolean late) throws Exception {
        Lock lock = new ReentrantLock();
        Condition ready = lock.newCondition();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            slot[0] = b;
            ready.signal();
            lock.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            lock.lock();
            while (slot[0] == null) {
                ready.awaitNanos(1_000_000);
            }
            lock.unlock();
            slot[0].use();
        });
    }

    static void conditionUntil(boolean late) throws Exception {
        Lock lock = new ReentrantReadWriteLock().writeLock();
        Condition ready = lock.newCondition();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            lock.lock();
            slot[0] = b;
            ready.signalAll();
            lock.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            lock.lock();
            while (slot[0] == null) {
                ready.awaitUntil(new Date(System.currentTimeMillis() + 10));
            }
            lock.unlock();
            slot[0].use();
        });
    }

    static void hasWaiters(boolean late) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Condition ready = lock.newCondition();
        Box b = new Box();
        both(() -> {
            lock.lock();
            b.value = 1;
            ready.await();
            lock.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            boolean waiting = false;
            while (!waiting) {
                lock.lock();
                waiting = lock.hasWaiters(ready);
                if (waiting) {
                    ready.signal();
                }
                lock.unlock();
                Thread.yield();
            }
            b.use();
        });
    }

    static void readLockCount(boolean late) throws Exception {
        ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            lock.readLock().lock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> lock.getReadLockCount() == 1);
            b.use();
        });
    }

    static void waitTimed(boolean late) throws Exception {
        Object monitor = new Object();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            synchronized (monitor) {
                slot[0] = b;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            Box b;
            synchronized (monitor) {
                while (slot[0] == null) {
                    monitor.wait(1);
                }
                b = slot[0];
            }
            b.use();
        });
    }

    static void ownMutexCondition(boolean late) throws Exception {
        Mutex mutex = new Mutex();
        Condition ready = mutex.newCondition();
        Box[] slot = new Box[1];
        both(() -> {
            Box b = Box.full();
            mutex.acquire(1);
            slot[0] = b;
            ready.signal();
            mutex.release(1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            mutex.acquire(1);
            while (slot[0] == null) {
                ready.await();
            }
            Box b = slot[0];
            mutex.release(1);
            b.use();
        });
    }

    static void ownLatchShared(boolean late) throws Exception {
        Gate gate = new Gate();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            gate.releaseShared(1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            gate.acquireSharedInterruptibly(1);
            b.use();
        });
    }

    static void ownLockClass(boolean late) throws Exception {
        Lock lock = new SpinLock();
        Box[] slot = new Box[1];
        pass(b -> {
            lock.lock();
            slot[0] = b;
            lock.unlock();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            lock.lock();
            try {
                return slot[0];
            } finally {
                lock.unlock();
            }
        });
    }

    static void ticketLock(boolean late) throws Exception {
        AtomicInteger next = new AtomicInteger();
        AtomicInteger serving = new AtomicInteger();
        Box[] slot = new Box[1];
        pass(b -> {
            int ticket = next.getAndIncrement();
            while (serving.get() != ticket) {
                Thread.onSpinWait();
            }
            slot[0] = b;
            serving.incrementAndGet();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            int ticket = next.getAndIncrement();
            while (serving.get() != ticket) {
                Thread.onSpinWait();
            }
            try {
                return slot[0];
            } finally {
                serving.incrementAndGet();
            }
        });
    }

    static void parkBlocker(boolean late) throws Exception {
        Object blocker = new Object();
        AtomicBoolean ready = new AtomicBoolean();
        Box b = new Box();
        Thread t = start(() -> {
            while (!ready.get()) {
                LockSupport.parkNanos(blocker, 1_000_000);
            }
            b.use();
        });
        b.value = 1;
        ready.set(true);
        LockSupport.unpark(t);
        if (late) {
            b.value = 7;
        }
        t.join();
    }
}
