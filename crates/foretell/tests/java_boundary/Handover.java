import java.util.Arrays;
import java.util.List;

/**
 * Runner of scenarios. In each scenario one thread fills a box and hands it over, and another
 * thread takes it and uses it. With the argument `late` the first thread goes on writing to the
 * box after it has handed it over, which is a race; without it the program is correct.
 */
class Handover {
    /** An object that is handed over. */
    static final class Box {
        int value;

        /** Returns a new box with something in it. */
        static Box full() {
            Box box = new Box();
            box.value = 1;
            return box;
        }

        /** Uses the box, after it was taken. */
        void use() {
            value++;
        }
    }

    /** Part of a scenario that one thread runs. */
    interface Act {
        void run() throws Exception;
    }

    /** A scenario; `late` selects the incorrect variant. */
    interface Scenario {
        void run(boolean late) throws Exception;
    }

    private final boolean late;
    private final List<String> names;

    Handover(String[] arguments) {
        late = arguments.length > 0 && arguments[0].equals("late");
        names = Arrays.asList(arguments).subList(Math.min(1, arguments.length), arguments.length);
    }

    /** Runs a scenario, unless the arguments name others. */
    Handover run(String name, Scenario scenario) throws Exception {
        if (names.isEmpty() || names.contains(name)) {
            scenario.run(late);
        }
        return this;
    }

    /** Starts a thread. */
    static Thread start(Act act) {
        Thread thread = new Thread(() -> {
            try {
                act.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
        return thread;
    }

    /** Runs two acts in two threads and waits for both. */
    static void both(Act first, Act second) throws Exception {
        Thread one = start(first);
        Thread two = start(second);
        one.join();
        two.join();
    }

    /** Source of a box: null as long as there is none. */
    interface Source {
        Box poll() throws Exception;
    }

    /** Asks until there is a box, and uses it. */
    static void useFrom(Source source) throws Exception {
        Box box = source.poll();
        while (box == null) {
            Thread.yield();
            box = source.poll();
        }
        box.use();
    }

    /** Taker of a box that was filled. */
    interface Giver {
        void give(Box box) throws Exception;
    }

    /** Hands a box over: one thread gives it away, another one asks for it and uses it. */
    static void pass(Giver giver, Source source) throws Exception {
        both(() -> giver.give(Box.full()), () -> useFrom(source));
    }

    /** Asks until the answer is yes. */
    static void until(java.util.function.BooleanSupplier question) {
        while (!question.getAsBoolean()) {
            Thread.yield();
        }
    }
}
