package foretell.rt;

import java.io.File;
import java.io.IOException;

/** Starting the runtime. */
public final class Startup {
    private Startup() {
    }

    /** Makes the log. False: it is there already, another process writes it. */
    public static boolean createLog(Options options) throws IOException {
        if (!new File(options.log).createNewFile()) {
            return false;
        }
        Log.open(options);
        return true;
    }

    /** The calling thread is the program's first; from here on its hooks do something. */
    public static void start(Options options) throws IOException {
        Schedule schedule = options.schedule == null ? null : Schedule.read(options.schedule);
        Scheduler.start(options, schedule == null || schedule.isDone() ? null : schedule);
        Log.threadName(0, Thread.currentThread().getName());
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        Watchdog watchdog = new Watchdog(group, options.stallSeconds);
        watchdog.begin();
    }
}
