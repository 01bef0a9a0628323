package foretell.rt;

/**
 * Entries of recorded code from code that is not recorded. A thread that enters with no recorded
 * caller got its work from the platform. Where the trace does not show how, as it does for a
 * thread's own `run` and for modelled tasks, the thread follows everything that other threads have
 * done.
 */
final class Entries {
    private Entries() {
    }

    static void enter(ThreadState t) {
        if (t.depth == 0 && !t.runsTasks) {
            boolean first = !t.entered;
            t.entered = true;
            if (t.index != 0 && !(first && isOwnRun(t))) {
                t.unexplainedWait = true;
            }
        }
        Log.settle(t);
    }

    /** Whether the calling thread is in its `run`, with no other unrecorded code below. */
    private static boolean isOwnRun(ThreadState t) {
        StackTraceElement[] stack = new Throwable().getStackTrace();
        int at = 0;
        while (at < stack.length && stack[at].getClassName().startsWith("foretell.rt.")) {
            at++;
        }
        for (at++; at < stack.length; at++) {
            // A method reference, `new Thread(counter::increment)`, runs an added method first.
            if (!isAdded(stack[at]) && !isOfThread(stack[at].getClassName())) {
                return runsStage(t, stack);
            }
        }
        return true;
    }

    /** Whether a frame is of a method that the agent has added to a recorded class. */
    private static boolean isAdded(StackTraceElement frame) {
        return frame.getMethodName().startsWith("foretell$")
            && HiddenUse.isRecorded(frame.getClassName());
    }

    private static boolean isOfThread(String name) {
        return name.equals("java.lang.Thread") || name.startsWith("java.lang.VirtualThread")
            || name.startsWith("java.lang.ThreadBuilders") || name.startsWith("jdk.internal.vm.");
    }

    /** Whether the calling thread was created for an asynchronous stage. */
    static boolean runsStage(ThreadState t) {
        return runsStage(t, new Throwable().getStackTrace());
    }

    private static boolean runsStage(ThreadState t, StackTraceElement[] stack) {
        int at = stack.length - 1;
        while (at >= 0 && isOfThread(stack[at].getClassName())) {
            at--;
        }
        boolean stage = at >= 0
            && stack[at].getClassName().startsWith("java.util.concurrent.CompletableFuture$Async");
        // Such a thread completes other stages, too.
        t.runsTasks |= stage;
        return stage;
    }
}
