package foretell.rt;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Field;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Start of the runtime. */
public final class Startup {
    private Startup() {
    }

    /** Creates the log. Returns false if it exists: another process writes it. */
    public static boolean createLog(Options options) throws IOException {
        if (!new File(options.log).createNewFile()) {
            return false;
        }
        Log.open(options);
        return true;
    }

    /**
     * Gives the generators by which the workers of a ForkJoinPool choose the task to steal a seed,
     * so that a replay repeats their choices.
     */
    private static void seedPools(long seed) {
        try {
            Field f = ThreadLocalRandom.class.getDeclaredField("seeder");
            f.setAccessible(true);
            ((AtomicLong) f.get(null)).set(seed + 1);
        } catch (Exception e) {
            // Another platform: the choices may differ.
            return;
        }
    }

    /** Starts recording with the calling thread as the program's first. */
    public static void start(Options options) throws IOException {
        Schedule schedule = options.schedule == null ? null : Schedule.read(options.schedule);
        if (schedule != null && schedule.isDone()) {
            schedule = null;
            Log.stepsDone();
        }
        seedPools(options.seed);
        Scheduler.start(options, schedule);
        Log.threadName(0, Thread.currentThread().getName());
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        Watchdog watchdog = new Watchdog(group, options.stallSeconds, options.reader);
        watchdog.begin();
    }
}
