package foretell.rt;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Schedule of a replayed run, in the format of native programs: lines `module CLASS`, `thread T
 * PARENT NTH`, `hold THREAD ORDINAL`, and `step THREAD ORDINAL KIND MODULE OFFSET`, or `reach` or
 * `block` in place of `step`. A module is a class; an offset is the number of a site in its class.
 *
 * A hook comes after its access, so a thread is *before* a step when all its earlier steps have
 * run: a line `reach` lets it run that far.
 */
final class Schedule {
    /** Actions on a step: to run it, to run up to it, to wait in it. */
    static final int RUN = 0;
    static final int REACH = 1;
    static final int BLOCK = 2;
    private static final String[] ACTS = {"step", "reach", "block"};

    final ArrayList<String> classes = new ArrayList<String>();
    private final Map<Long, Integer> threads = new HashMap<Long, Integer>();
    /** Ordinals before which threads without a scheduled step stay. */
    private final Map<Integer, Long> holds = new HashMap<Integer, Long>();
    private int nextIndex = 1;
    private int count;
    private int[] act = new int[64];
    private int[] thread = new int[64];
    private long[] ordinal = new long[64];
    private int[] kind = new int[64];
    private int[] module = new int[64];
    private long[] offset = new long[64];

    /** Index of the next step. */
    int next;

    static Schedule read(String path) throws IOException {
        Schedule s = new Schedule();
        BufferedReader in = new BufferedReader(new InputStreamReader(new FileInputStream(path),
            "UTF-8"));
        try {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                s.line(line);
            }
        } finally {
            in.close();
        }
        return s;
    }

    private void line(String line) throws IOException {
        String[] w = line.split(" ");
        try {
            if (w[0].equals("module")) {
                classes.add(line.substring(7));
            } else if (w[0].equals("thread")) {
                int index = Integer.parseInt(w[1]);
                threads.put(key(Integer.parseInt(w[2]), Integer.parseInt(w[3])), index);
                nextIndex = Math.max(nextIndex, index + 1);
            } else if (w[0].equals("hold")) {
                holds.put(Integer.parseInt(w[1]), Long.parseLong(w[2]));
            } else {
                int named = Arrays.asList(ACTS).indexOf(w[0]);
                if (named >= 0) {
                    step(named, w);
                }
            }
        } catch (RuntimeException e) {
            throw new IOException("not a schedule: " + line);
        }
    }

    private void step(int named, String[] w) {
        if (count == thread.length) {
            act = Arrays.copyOf(act, count * 2);
            thread = Arrays.copyOf(thread, count * 2);
            ordinal = Arrays.copyOf(ordinal, count * 2);
            kind = Arrays.copyOf(kind, count * 2);
            module = Arrays.copyOf(module, count * 2);
            offset = Arrays.copyOf(offset, count * 2);
        }
        act[count] = named;
        thread[count] = Integer.parseInt(w[1]);
        ordinal[count] = Long.parseLong(w[2]);
        kind[count] = Kind.named(w[3]);
        module[count] = w[4].equals("-") ? -1 : Integer.parseInt(w[4]);
        offset[count] = Long.parseLong(w[5]);
        count++;
    }

    private static long key(int parent, int nth) {
        return (long) parent << 32 | nth;
    }

    /** Returns the number of the thread that `parent` starts as its `nth`. */
    int index(int parent, int nth) {
        Integer known = threads.get(key(parent, nth));
        return known != null ? known : nextIndex++;
    }

    boolean isDone() {
        return next >= count;
    }

    int length() {
        return count;
    }

    int thread() {
        return thread[next];
    }

    long ordinal() {
        return ordinal[next];
    }

    int kind() {
        return kind[next];
    }

    /** Returns the number of steps of a thread at which the next line is done. */
    long stepsWhenDone() {
        return act[next] == REACH ? ordinal[next] : ordinal[next] + 1;
    }

    boolean isToRun() {
        return act[next] == RUN;
    }

    /** Passes over steps that their threads have reached. */
    void passReached() {
        while (!isDone() && isReached()) {
            next++;
        }
    }

    /**
     * Whether the next line is done. A call that cannot give up the baton may start threads before
     * the schedule says so, which changes nothing: they run when they are due.
     */
    private boolean isReached() {
        long steps = Replay.stepsOf(thread[next]);
        return act[next] == REACH && steps >= ordinal[next]
            || act[next] == RUN && kind[next] == Kind.CREATE && steps > ordinal[next];
    }

    /** Whether a thread that blocks is to wait in its step. */
    boolean isToBlock(ThreadState t) {
        return !isDone() && act[next] == BLOCK && thread[next] == t.index
            && ordinal[next] == t.steps
            && (t.waitsFor == ThreadState.FOR_JOIN || t.wantedLock() != 0);
    }

    /** Returns the threads that are to wait. */
    ArrayList<Integer> toBlock() {
        ArrayList<Integer> threads = new ArrayList<Integer>();
        for (int i = 0; i < count; i++) {
            if (act[i] == BLOCK) {
                threads.add(thread[i]);
            }
        }
        return threads;
    }

    /** Whether a thread has steps that are still due. */
    boolean names(int thread) {
        for (int i = next; i < count; i++) {
            if (this.thread[i] == thread) {
                return true;
            }
        }
        return false;
    }

    /** Returns the ordinal before which a thread stays while it is not due. */
    long bound(int thread) {
        for (int i = next; i < count; i++) {
            if (this.thread[i] == thread) {
                return ordinal[i];
            }
        }
        Long held = holds.get(thread);
        return held != null ? held : Long.MAX_VALUE;
    }

    /** Returns the difference between the next step and one that came; null if there is none. */
    String difference(int kind, long ordinal, int site) {
        if (ordinal != this.ordinal[next]) {
            return "the thread is past the expected step";
        }
        if (kind != this.kind[next]) {
            return "another kind of step";
        }
        if (module[next] < 0 || Sites.is(site, classes.get(module[next]), offset[next])) {
            return null;
        }
        return "another instruction: " + Sites.ordinal(site) + " instead of " + offset[next]
            + " of " + classes.get(module[next]).replace('/', '.');
    }

    /** Returns the position of the step that wakes this thread; a large number if there is none. */
    int wakePosition(int thread) {
        for (int i = next; i < count; i++) {
            if (this.thread[i] == thread && kind[i] == Kind.WOKEN) {
                return i;
            }
        }
        return Integer.MAX_VALUE;
    }

    /** Describes the next step. */
    String description() {
        if (isDone()) {
            return "nothing";
        }
        String location = module[next] < 0 ? "" : " at " + Sites.text(classes.get(module[next]),
            offset[next]);
        String step = Kind.NAMES[kind[next]] + " number " + ordinal[next];
        return act[next] == BLOCK ? "thread " + thread[next] + " to wait in " + step + location
            : step + " of thread " + thread[next] + location;
    }
}
