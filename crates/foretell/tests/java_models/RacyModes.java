import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.*;

/** Access modes that are too weak for what they publish. */
public class RacyModes extends Scenarios {
    static class Cell {
        int value;
        int flag;
        volatile int updated;
    }

    static final VarHandle FLAG;
    static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(int[].class);
    static final AtomicIntegerFieldUpdater<Cell> UPDATED =
        AtomicIntegerFieldUpdater.newUpdater(Cell.class, "updated");

    static {
        try {
            FLAG = MethodHandles.lookup().findVarHandle(Cell.class, "flag", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    public static void main(String[] names) throws Exception {
        run(RacyModes.class, names);
    }

    static void opaqueStoreOfAField() throws Exception {
        Cell cell = new Cell();
        both(() -> {
            cell.value = 1;
            FLAG.setOpaque(cell, 1);
        }, () -> {
            while ((int) FLAG.getAcquire(cell) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void opaqueLoadOfAField() throws Exception {
        Cell cell = new Cell();
        both(() -> {
            cell.value = 1;
            FLAG.setRelease(cell, 1);
        }, () -> {
            while ((int) FLAG.getOpaque(cell) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void opaqueElement() throws Exception {
        Cell cell = new Cell();
        int[] flags = new int[1];
        both(() -> {
            cell.value = 1;
            ELEMENT.setOpaque(flags, 0, 1);
        }, () -> {
            while ((int) ELEMENT.getVolatile(flags, 0) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void addThatOnlyAcquires() throws Exception {
        Cell cell = new Cell();
        both(() -> {
            cell.value = 1;
            int old = (int) FLAG.getAndAddAcquire(cell, 1);
            sink(old);
        }, () -> {
            while ((int) FLAG.getAcquire(cell) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void exchangeThatOnlyAcquires() throws Exception {
        Cell cell = new Cell();
        both(() -> {
            cell.value = 1;
            int old = (int) FLAG.compareAndExchangeAcquire(cell, 0, 1);
            sink(old);
        }, () -> {
            while ((int) FLAG.getAcquire(cell) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void bitsThatOnlyRelease() throws Exception {
        Cell cell = new Cell();
        both(() -> {
            cell.value = 1;
            FLAG.setRelease(cell, 1);
        }, () -> {
            while (((int) FLAG.getAndBitwiseOrRelease(cell, 2) & 1) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void plainExchange() throws Exception {
        Cell cell = new Cell();
        both(() -> {
            cell.value = 1;
            sink(FLAG.weakCompareAndSetPlain(cell, 0, 1) ? 1 : 0);
        }, () -> {
            while ((int) FLAG.getAcquire(cell) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void fenceOfTheWriterOnly() throws Exception {
        Cell cell = new Cell();
        both(() -> {
            cell.value = 1;
            VarHandle.releaseFence();
            FLAG.setOpaque(cell, 1);
        }, () -> {
            while ((int) FLAG.getOpaque(cell) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void atomicBoolean() throws Exception {
        Cell cell = new Cell();
        AtomicBoolean flag = new AtomicBoolean();
        both(() -> {
            cell.value = 1;
            flag.setOpaque(true);
        }, () -> {
            while (!flag.get()) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void atomicIntegerArray() throws Exception {
        Cell cell = new Cell();
        AtomicIntegerArray flags = new AtomicIntegerArray(2);
        both(() -> {
            cell.value = 1;
            flags.lazySet(1, 1);
        }, () -> {
            while (flags.getOpaque(1) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void weakExchangeOfAnAtomic() throws Exception {
        Cell cell = new Cell();
        AtomicLong flag = new AtomicLong();
        both(() -> {
            cell.value = 1;
            sink(flag.weakCompareAndSetPlain(0, 1) ? 1 : 0);
        }, () -> {
            while (flag.get() == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void weakUpdater() throws Exception {
        Cell cell = new Cell();
        both(() -> {
            cell.value = 1;
            sink(UPDATED.weakCompareAndSet(cell, 0, 1) ? 1 : 0);
        }, () -> {
            while (cell.updated == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void plainStoreOfAnAtomic() throws Exception {
        AtomicInteger flag = new AtomicInteger();
        both(() -> flag.setPlain(1), () -> sink(flag.get()));
    }

    static void objectWithoutFinalFields() throws Exception {
        AtomicReference<Cell> published = new AtomicReference<>();
        both(() -> {
            Cell cell = new Cell();
            cell.value = 1;
            published.setOpaque(cell);
        }, () -> {
            Cell cell = published.getAcquire();
            while (cell == null) {
                Thread.onSpinWait();
                cell = published.getAcquire();
            }
            sink(cell.value);
        });
    }
}
