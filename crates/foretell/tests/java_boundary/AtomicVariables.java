import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.*;

/** Atomic variables, adders, updaters and handles. */
public class AtomicVariables extends Handover {
    private AtomicVariables() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("atomicReference", AtomicVariables::atomicReference)
            .run("atomicReferenceGetAndSet", AtomicVariables::atomicReferenceGetAndSet)
            .run("atomicBoolean", AtomicVariables::atomicBoolean)
            .run("atomicInteger", AtomicVariables::atomicInteger)
            .run("numberTyped", AtomicVariables::numberTyped)
            .run("atomicLongAccumulate", AtomicVariables::atomicLongAccumulate)
            .run("atomicIntegerArray", AtomicVariables::atomicIntegerArray)
            .run("longAdder", AtomicVariables::longAdder)
            .run("doubleAdder", AtomicVariables::doubleAdder)
            .run("longAccumulator", AtomicVariables::longAccumulator)
            .run("intFieldUpdater", AtomicVariables::intFieldUpdater)
            .run("varHandleVolatile", AtomicVariables::varHandleVolatile)
            .run("varHandleRelease", AtomicVariables::varHandleRelease)
            .run("varHandleCompareAndSet", AtomicVariables::varHandleCompareAndSet)
            .run("volatileField", AtomicVariables::volatileField)
            .run("stampedReference", AtomicVariables::stampedReference)
            .run("markableReference", AtomicVariables::markableReference)
            .run("referenceArray", AtomicVariables::referenceArray)
            .run("referenceFieldUpdater", AtomicVariables::referenceFieldUpdater)
            .run("volatileReference", AtomicVariables::volatileReference)
            .run("atomicMethodReference", AtomicVariables::atomicMethodReference);
    }

    /** Fields for updaters and handles. */
    static final class Flags {
        static final AtomicIntegerFieldUpdater<Flags> STATE =
            AtomicIntegerFieldUpdater.newUpdater(Flags.class, "state");
        static final AtomicReferenceFieldUpdater<Flags, Box> SLOT =
            AtomicReferenceFieldUpdater.newUpdater(Flags.class, Box.class, "slot");
        static final VarHandle HANDLE;

        static {
            try {
                HANDLE = MethodHandles.lookup().findVarHandle(Flags.class, "plain", int.class);
            } catch (ReflectiveOperationException e) {
                throw new ExceptionInInitializerError(e);
            }
        }

        volatile int state;
        volatile boolean flag;
        volatile Box slot;
        int plain;
    }

    static void atomicReference(boolean late) throws Exception {
        AtomicReference<Box> slot = new AtomicReference<>();
        both(() -> {
            Box b = Box.full();
            slot.set(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> slot.get()));
    }

    static void atomicReferenceGetAndSet(boolean late) throws Exception {
        AtomicReference<Box> slot = new AtomicReference<>();
        both(() -> {
            Box b = Box.full();
            slot.compareAndSet(null, b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> slot.getAndSet(null)));
    }

    static void atomicBoolean(boolean late) throws Exception {
        AtomicBoolean ready = new AtomicBoolean();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            ready.set(true);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> ready.get() ? box : null));
    }

    static void atomicInteger(boolean late) throws Exception {
        AtomicInteger ready = new AtomicInteger();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            ready.incrementAndGet();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> ready.get() == 1 ? box : null));
    }

    static void numberTyped(boolean late) throws Exception {
        AtomicInteger count = new AtomicInteger();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            count.addAndGet(1);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> ((Number) count).intValue() == 1 ? box : null));
    }

    static void atomicLongAccumulate(boolean late) throws Exception {
        AtomicLong ready = new AtomicLong();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            ready.accumulateAndGet(5, Long::sum);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> ready.get() == 5 ? box : null));
    }

    static void atomicIntegerArray(boolean late) throws Exception {
        AtomicIntegerArray ready = new AtomicIntegerArray(3);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            ready.set(1, 1);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> ready.get(1) == 1 ? box : null));
    }

    static void longAdder(boolean late) throws Exception {
        LongAdder ready = new LongAdder();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            ready.increment();
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> ready.sum() == 1 ? box : null));
    }

    static void doubleAdder(boolean late) throws Exception {
        DoubleAdder ready = new DoubleAdder();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            ready.add(1);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> ready.sum() > 0 ? box : null));
    }

    static void longAccumulator(boolean late) throws Exception {
        LongAccumulator ready = new LongAccumulator(Long::max, 0);
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            ready.accumulate(3);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> ready.get() == 3 ? box : null));
    }

    static void intFieldUpdater(boolean late) throws Exception {
        Flags ready = new Flags();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            Flags.STATE.set(ready, 1);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> Flags.STATE.get(ready) == 1 ? box : null));
    }

    static void varHandleVolatile(boolean late) throws Exception {
        Flags ready = new Flags();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            Flags.HANDLE.setVolatile(ready, 1);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> (int) Flags.HANDLE.getVolatile(ready) == 1 ? box : null));
    }

    static void varHandleRelease(boolean late) throws Exception {
        Flags ready = new Flags();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            Flags.HANDLE.setRelease(ready, 1);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> (int) Flags.HANDLE.getAcquire(ready) == 1 ? box : null));
    }

    static void varHandleCompareAndSet(boolean late) throws Exception {
        Flags ready = new Flags();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            Flags.HANDLE.compareAndSet(ready, 0, 1);
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> (int) Flags.HANDLE.getAcquire(ready) == 1 ? box : null));
    }

    static void volatileField(boolean late) throws Exception {
        Flags ready = new Flags();
        Box box = new Box();
        both(() -> {
            Box b = Box.full();
            box.value = b.value;
            ready.flag = true;
            if (late) {
                box.value = 7;
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> ready.flag ? box : null));
    }

    static void stampedReference(boolean late) throws Exception {
        AtomicStampedReference<Box> slot = new AtomicStampedReference<>(null, 0);
        both(() -> {
            Box b = Box.full();
            slot.set(b, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> slot.getReference()));
    }

    static void markableReference(boolean late) throws Exception {
        AtomicMarkableReference<Box> slot = new AtomicMarkableReference<>(null, false);
        both(() -> {
            Box b = Box.full();
            slot.attemptMark(null, false);
            slot.set(b, true);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> slot.isMarked() ? slot.getReference() : null));
    }

    static void referenceArray(boolean late) throws Exception {
        AtomicReferenceArray<Box> slot = new AtomicReferenceArray<>(2);
        both(() -> {
            Box b = Box.full();
            slot.lazySet(1, b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> slot.get(1)));
    }

    static void referenceFieldUpdater(boolean late) throws Exception {
        Flags holder = new Flags();
        both(() -> {
            Box b = Box.full();
            Flags.SLOT.set(holder, b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> Flags.SLOT.get(holder)));
    }

    static void volatileReference(boolean late) throws Exception {
        Flags holder = new Flags();
        both(() -> {
            Box b = Box.full();
            holder.slot = b;
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> holder.slot));
    }

    static void atomicMethodReference(boolean late) throws Exception {
        AtomicReference<Box> slot = new AtomicReference<>();
        java.util.function.Consumer<Box> set = slot::set;
        java.util.function.Supplier<Box> get = slot::get;
        both(() -> {
            Box b = Box.full();
            set.accept(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> get.get()));
    }
}
