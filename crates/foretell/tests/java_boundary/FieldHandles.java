import java.lang.invoke.*;
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

/** Fields by handles, updaters and reflection. */
class FieldHandles extends MoreLocks {
    static void getBlocker(boolean late) throws Exception {
        Object blocker = new Object();
        Box b = new Box();
        Thread t = start(() -> {
            b.value = 1;
            LockSupport.park(blocker);
            if (late) {
                b.value = 7;
            }
        });
        until(() -> LockSupport.getBlocker(t) == blocker || t.getState() == Thread.State.WAITING);
        b.use();
        LockSupport.unpark(t);
        t.join();
    }

    static void lockInTryWithResources(boolean late) throws Exception {
        ReentrantLock lock = new ReentrantLock();
        Box[] slot = new Box[1];
        pass(b -> {
            lock.lock();
            try (AutoCloseable closing = lock::unlock) {
                slot[0] = b;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            lock.lock();
            try (AutoCloseable closing = lock::unlock) {
                return slot[0];
            }
        });
    }

    static void synchronizedStatic(boolean late) throws Exception {
        pass(b -> {
            Guarded.set(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return Guarded.get();
        });
    }

    static void synchronizedNested(boolean late) throws Exception {
        Guarded.Inner inner = new Guarded.Inner();
        pass(b -> {
            inner.set(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return inner.get();
        });
    }

    static void varHandleOpaque(boolean late) throws Exception {
        Cell cell = new Cell();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            Cell.FLAG.setRelease(cell, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> (int) Cell.FLAG.getAcquire(cell) == 1);
            b.use();
        });
    }

    static void varHandlePlainRead(boolean late) throws Exception {
        Cell cell = new Cell();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            Cell.FLAG.setVolatile(cell, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> cell.flag == 1);
            b.use();
        });
    }

    static void varHandleUnreflected(boolean late) throws Exception {
        Cell cell = new Cell();
        VarHandle handle = MethodHandles.lookup()
            .unreflectVarHandle(Cell.class.getDeclaredField("flag"));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            handle.setVolatile(cell, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> cell.flag == 1);
            b.use();
        });
    }

    static void varHandleExact(boolean late) throws Exception {
        Cell cell = new Cell();
        VarHandle handle = Cell.FLAG.withInvokeExactBehavior();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            handle.setVolatile(cell, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> (int) Cell.FLAG.getVolatile(cell) == 1);
            b.use();
        });
    }

    static void varHandleArray(boolean late) throws Exception {
        VarHandle handle = MethodHandles.arrayElementVarHandle(int[].class);
        int[] array = new int[2];
        Box b = new Box();
        both(() -> {
            b.value = 1;
            handle.setRelease(array, 1, 5);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> (int) handle.getAcquire(array, 1) == 5);
            b.use();
        });
    }

    static void varHandleBytes(boolean late) throws Exception {
        VarHandle handle = MethodHandles.byteArrayViewVarHandle(int[].class,
            java.nio.ByteOrder.BIG_ENDIAN);
        byte[] array = new byte[8];
        Box b = new Box();
        both(() -> {
            b.value = 1;
            handle.set(array, 4, 5);
            VarHandle.fullFence();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                VarHandle.fullFence();
                return array[7] == 5;
            });
            b.use();
        });
    }

    static void varHandleGetAndAdd(boolean late) throws Exception {
        Cell cell = new Cell();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            Cell.FLAG.getAndAddRelease(cell, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> (boolean) Cell.FLAG.weakCompareAndSetAcquire(cell, 1, 2));
            b.use();
        });
    }

    static void methodHandleSetter(boolean late) throws Exception {
        Cell cell = new Cell();
        MethodHandle setter = MethodHandles.lookup().findSetter(Cell.class, "flag", int.class);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            invoke(setter, cell);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> cell.flag == 1);
            b.use();
        });
    }

    static void fieldSet(boolean late) throws Exception {
        Cell cell = new Cell();
        Field field = Cell.class.getDeclaredField("flag");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            field.setInt(cell, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> cell.flag == 1);
            b.use();
        });
    }

    static void fieldGet(boolean late) throws Exception {
        Cell cell = new Cell();
        Field field = Cell.class.getDeclaredField("flag");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            cell.flag = 1;
            if (late) {
                b.value = 7;
            }
        }, () -> {
            while (field.getInt(cell) == 0) {
                Thread.yield();
            }
            b.use();
        });
    }

    static void fieldSetStatic(boolean late) throws Exception {
        Field field = Cell.class.getDeclaredField("shared");
        Cell.shared = null;
        both(() -> {
            Box b = Box.full();
            field.set(null, b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> Cell.shared));
    }

    static void fieldSetUnread(boolean late) throws Exception {
        Cell cell = new Cell();
        Field field = Cell.class.getDeclaredField("flag");
        Box b = new Box();
        Thread t = start(() -> {
            b.value = 1;
            field.setInt(cell, 1);
            if (late) {
                b.value = 7;
            }
        });
        Thread.sleep(20);
        if (cell.flag == 1) {
            b.use();
        }
        t.join();
    }

    static void arrayReflected(boolean late) throws Exception {
        int[] array = new int[1];
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (array) {
                Array.setInt(array, 0, 1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (array) {
                    return array[0] == 1;
                }
            });
            b.use();
        });
    }

    static void updaterFunction(boolean late) throws Exception {
        Cell cell = new Cell();
        AtomicIntegerFieldUpdater<Cell> updater =
            AtomicIntegerFieldUpdater.newUpdater(Cell.class, "flag");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            updater.updateAndGet(cell, v -> v + 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> cell.flag == 1);
            b.use();
        });
    }
}
