import java.util.function.Consumer;

/**
 * Threads of a program of which `Hidden` and its nested classes are excluded. `late` counts without
 * a lock, in ways that run recorded code only; the other way counts in locks of excluded code.
 */
public class Selected {
    interface Step {
        void step();
    }

    static class Counter implements Step {
        int n;

        void inc() {
            n++;
        }

        public void step() {
            n++;
        }

        private void own() {
            n++;
        }

        void both() throws Exception {
            two(() -> n++, () -> n++);
            two(this::own, this::own);
        }
    }

    static class Reference extends Counter {
    }

    static class Interface extends Counter {
    }

    static class Reflected {
        int n;

        void both() throws Exception {
            two(() -> n++, () -> n++);
        }
    }

    static void two(Runnable first, Runnable second) throws Exception {
        Thread a = new Thread(first);
        Thread b = new Thread(second);
        a.start();
        b.start();
        a.join();
        b.join();
    }

    static class Hidden {
        private static final Object LOCK = new Object();

        /** Locks around recorded code that it overrides. */
        static class Guarded extends Counter {
            @Override
            void inc() {
                synchronized (LOCK) {
                    super.inc();
                }
            }

            @Override
            public void step() {
                synchronized (LOCK) {
                    super.step();
                }
            }
        }

        static class Worker extends Thread {
            private final Runnable work;

            Worker(Runnable work) {
                this.work = work;
            }

            @Override
            public void run() {
                locked(work);
            }
        }

        static void locked(Runnable work) {
            synchronized (LOCK) {
                work.run();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            new Counter().both();
            Counter reference = new Reference();
            two(reference::inc, reference::inc);
            Step step = new Interface();
            two(step::step, step::step);
            Object reflected = Reflected.class.getDeclaredConstructor().newInstance();
            Reflected.class.getDeclaredMethod("both").invoke(reflected);
            return;
        }
        Counter guarded = new Hidden.Guarded();
        two(guarded::inc, guarded::inc);
        Step step = new Hidden.Guarded();
        two(step::step, step::step);
        Counter called = new Counter();
        two(() -> Hidden.locked(called::inc), () -> Hidden.locked(called::inc));
        Counter passed = new Counter();
        Consumer<Runnable> lock = Hidden::locked;
        two(() -> lock.accept(passed::inc), () -> lock.accept(passed::inc));
        Counter worked = new Counter();
        Thread a = new Hidden.Worker(worked::inc);
        Thread b = new Hidden.Worker(worked::inc);
        a.start();
        b.start();
        a.join();
        b.join();
    }
}
