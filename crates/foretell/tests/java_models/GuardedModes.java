import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.*;
import java.util.concurrent.atomic.*;
import java.util.function.*;

/** Access modes and fences that suffice for what they publish. */
public class GuardedModes extends Scenarios {
    static class Cell {
        int value;
        int flag;
        volatile int updated;
    }

    static class Frozen {
        final int[] content;

        Frozen(int value) {
            content = new int[] {value};
        }
    }

    static final VarHandle FLAG;
    static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(int[].class);
    static final VarHandle REFERENCE = MethodHandles.arrayElementVarHandle(Object[].class);
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
        run(GuardedModes.class, names);
    }

    /** Writes a value and publishes it; the second thread waits for it and reads it. */
    static void publish(Consumer<Cell> set, Predicate<Cell> isSet) throws Exception {
        Cell cell = new Cell();
        both(() -> {
            cell.value = 1;
            set.accept(cell);
        }, () -> {
            while (!isSet.test(cell)) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
    }

    static void handles() throws Exception {
        publish(c -> FLAG.setRelease(c, 1), c -> (int) FLAG.getAcquire(c) == 1);
        publish(c -> FLAG.setVolatile(c, 1), c -> (int) FLAG.getVolatile(c) == 1);
        publish(c -> sink((int) FLAG.getAndAddRelease(c, 1)), c -> (int) FLAG.getAcquire(c) == 1);
        publish(c -> sink((int) FLAG.getAndSet(c, 1)),
            c -> (int) FLAG.compareAndExchangeAcquire(c, 1, 2) == 1);
        publish(c -> sink(FLAG.weakCompareAndSetRelease(c, 0, 1) ? 1 : 0),
            c -> FLAG.weakCompareAndSetAcquire(c, 1, 2));
        publish(c -> sink((int) FLAG.getAndBitwiseOrRelease(c, 1)),
            c -> ((int) FLAG.getAndBitwiseAndAcquire(c, 3) & 1) == 1);
    }

    static void elements() throws Exception {
        int[] flags = new int[1];
        publish(c -> ELEMENT.setRelease(flags, 0, 1), c -> (int) ELEMENT.getAcquire(flags, 0) == 1);
    }

    static void fences() throws Exception {
        publish(c -> {
            VarHandle.releaseFence();
            FLAG.setOpaque(c, 1);
        }, c -> {
            boolean set = (int) FLAG.getOpaque(c) == 1;
            VarHandle.acquireFence();
            return set;
        });
        publish(c -> {
            VarHandle.storeStoreFence();
            FLAG.setOpaque(c, 1);
        }, c -> {
            boolean set = (int) FLAG.getOpaque(c) == 1;
            VarHandle.loadLoadFence();
            return set;
        });
        publish(c -> {
            VarHandle.fullFence();
            FLAG.setOpaque(c, 1);
        }, c -> (int) FLAG.getVolatile(c) == 1);
    }

    static void atomics() throws Exception {
        AtomicInteger number = new AtomicInteger();
        publish(c -> number.lazySet(1), c -> number.get() == 1);
        AtomicLong big = new AtomicLong();
        publish(c -> big.setRelease(1), c -> big.getAcquire() == 1);
        AtomicBoolean flag = new AtomicBoolean();
        publish(c -> sink(flag.compareAndExchangeRelease(false, true) ? 1 : 0),
            c -> flag.compareAndExchangeAcquire(true, false));
        AtomicLongArray array = new AtomicLongArray(2);
        publish(c -> sink(array.weakCompareAndSetVolatile(1, 0, 1) ? 1 : 0),
            c -> array.compareAndExchange(1, 1, 1) == 1);
        publish(c -> UPDATED.lazySet(c, 1), c -> c.updated == 1);
        AtomicReference<Cell> last = new AtomicReference<>();
        publish(last::setRelease, c -> last.getAcquire() == c);
    }

    /** An update of another thread continues the release sequence. */
    static void releaseSequence() throws Exception {
        Cell cell = new Cell();
        Thread other = start(() -> {
            while (!FLAG.weakCompareAndSetPlain(cell, 1, 2)) {
                Thread.onSpinWait();
            }
        });
        both(() -> {
            cell.value = 1;
            FLAG.setRelease(cell, 1);
        }, () -> {
            while ((int) FLAG.getAcquire(cell) == 0) {
                Thread.onSpinWait();
            }
            sink(cell.value);
        });
        other.join();
    }

    static void ownPlainLoads() throws Exception {
        AtomicInteger count = new AtomicInteger();
        both(() -> {
            for (int i = 0; i < 3; i++) {
                count.setRelease(count.getOpaque() + 1);
            }
        }, () -> sink(count.getAcquire()));
    }

    static void finalFields() throws Exception {
        AtomicReference<Frozen> published = new AtomicReference<>();
        both(() -> published.setOpaque(new Frozen(3)), () -> {
            Frozen frozen = published.getOpaque();
            while (frozen == null) {
                Thread.onSpinWait();
                frozen = published.getOpaque();
            }
            sink(frozen.content[0]);
        });
        Object[] slots = new Object[1];
        both(() -> REFERENCE.setOpaque(slots, 0, new Frozen(4)), () -> {
            Object frozen = REFERENCE.getOpaque(slots, 0);
            while (frozen == null) {
                Thread.onSpinWait();
                frozen = REFERENCE.getOpaque(slots, 0);
            }
            sink(((Frozen) frozen).content[0]);
        });
    }

    static void functionsAndImmutableLists() throws Exception {
        AtomicReference<IntSupplier> function = new AtomicReference<>();
        both(() -> {
            int[] content = {5};
            function.setOpaque(() -> content[0]);
        }, () -> {
            IntSupplier f = function.getOpaque();
            while (f == null) {
                Thread.onSpinWait();
                f = function.getOpaque();
            }
            sink(f.getAsInt());
        });
        AtomicReference<List<int[]>> list = new AtomicReference<>();
        both(() -> list.setOpaque(List.of(new int[] {6})), () -> {
            List<int[]> l = list.getOpaque();
            while (l == null) {
                Thread.onSpinWait();
                l = list.getOpaque();
            }
            sink(l.get(0)[0]);
        });
    }
}
