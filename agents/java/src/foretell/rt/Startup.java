package foretell.rt;

import java.io.File;
import java.io.IOException;

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

    /** Starts recording with the calling thread as the program's first. */
    public static void start(Options options) throws IOException {
        Schedule schedule = options.schedule == null ? null : Schedule.read(options.schedule);
        if (schedule != null && schedule.isDone()) {
            schedule = null;
            Log.stepsDone();
        }
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
