import java.lang.invoke.*;
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

/** Locks of other kinds, questions to locks, handles and reflection. */
public class MoreLocks extends Handover {
    MoreLocks() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("stampedReadWrite", LockKinds::stampedReadWrite)
            .run("stampedViews", LockKinds::stampedViews)
            .run("stampedReadWriteView", LockKinds::stampedReadWriteView)
            .run("stampedTryView", LockKinds::stampedTryView)
            .run("stampedConvert", LockKinds::stampedConvert)
            .run("isLocked", LockKinds::isLocked)
            .run("hasQueuedThreads", LockKinds::hasQueuedThreads)
            .run("fairLock", LockKinds::fairLock)
            .run("nestedLocks", LockKinds::nestedLocks)
            .run("conditionNanos", LockKinds::conditionNanos)
            .run("conditionUntil", LockKinds::conditionUntil)
            .run("hasWaiters", LockKinds::hasWaiters)
            .run("readLockCount", LockKinds::readLockCount)
            .run("waitTimed", LockKinds::waitTimed)
            .run("ownMutexCondition", LockKinds::ownMutexCondition)
            .run("ownLatchShared", LockKinds::ownLatchShared)
            .run("ownLockClass", LockKinds::ownLockClass)
            .run("ticketLock", LockKinds::ticketLock)
            .run("parkBlocker", LockKinds::parkBlocker)
            .run("getBlocker", FieldHandles::getBlocker)
            .run("lockInTryWithResources", FieldHandles::lockInTryWithResources)
            .run("synchronizedStatic", FieldHandles::synchronizedStatic)
            .run("synchronizedNested", FieldHandles::synchronizedNested)
            .run("varHandleOpaque", FieldHandles::varHandleOpaque)
            .run("varHandlePlainRead", FieldHandles::varHandlePlainRead)
            .run("varHandleUnreflected", FieldHandles::varHandleUnreflected)
            .run("varHandleExact", FieldHandles::varHandleExact)
            .run("varHandleArray", FieldHandles::varHandleArray)
            .run("varHandleBytes", FieldHandles::varHandleBytes)
            .run("varHandleGetAndAdd", FieldHandles::varHandleGetAndAdd)
            .run("methodHandleSetter", FieldHandles::methodHandleSetter)
            .run("fieldSet", FieldHandles::fieldSet)
            .run("fieldGet", FieldHandles::fieldGet)
            .run("fieldSetStatic", FieldHandles::fieldSetStatic)
            .run("fieldSetUnread", FieldHandles::fieldSetUnread)
            .run("arrayReflected", FieldHandles::arrayReflected)
            .run("updaterFunction", FieldHandles::updaterFunction);
    }

    /** A mutex made from a synchronizer, with conditions. */
    static final class Mutex extends AbstractQueuedSynchronizer {
        @Override
        protected boolean tryAcquire(int ignored) {
            boolean taken = compareAndSetState(0, 1);
            if (taken) {
                setExclusiveOwnerThread(Thread.currentThread());
            }
            return taken;
        }

        @Override
        protected boolean tryRelease(int ignored) {
            setExclusiveOwnerThread(null);
            setState(0);
            return true;
        }

        @Override
        protected boolean isHeldExclusively() {
            return getExclusiveOwnerThread() == Thread.currentThread();
        }

        Condition newCondition() {
            return new ConditionObject();
        }
    }

    /** A gate that stays open. */
    static final class Gate extends AbstractQueuedSynchronizer {
        @Override
        protected int tryAcquireShared(int ignored) {
            return getState() == 0 ? -1 : 1;
        }

        @Override
        protected boolean tryReleaseShared(int ignored) {
            setState(1);
            return true;
        }
    }

    /** A lock made of an atomic flag. */
    static final class SpinLock implements Lock {
        private final AtomicBoolean taken = new AtomicBoolean();

        @Override
        public void lock() {
            while (!taken.compareAndSet(false, true)) {
                Thread.onSpinWait();
            }
        }

        @Override
        public void unlock() {
            taken.set(false);
        }

        @Override
        public void lockInterruptibly() {
            lock();
        }

        @Override
        public boolean tryLock() {
            return taken.compareAndSet(false, true);
        }

        @Override
        public boolean tryLock(long time, TimeUnit unit) {
            return tryLock();
        }

        @Override
        public Condition newCondition() {
            throw new UnsupportedOperationException();
        }
    }

    /** A slot behind synchronized methods. */
    static final class Guarded {
        static Box slot;

        static synchronized void set(Box box) {
            slot = box;
        }

        static synchronized Box get() {
            return slot;
        }

        static class Inner {
            private Box slot;

            synchronized void set(Box box) {
                slot = box;
            }

            synchronized Box get() {
                return slot;
            }
        }
    }

    /** A volatile flag. */
    static final class Cell {
        static volatile Box shared;
        static final VarHandle FLAG;
        volatile int flag;

        static {
            try {
                FLAG = MethodHandles.lookup().findVarHandle(Cell.class, "flag", int.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }
    }

    static void invoke(MethodHandle setter, Cell cell) {
        try {
            setter.invokeExact(cell, 1);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
