package foretell.rt;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;

/**
 * Schedule of a replayed run, in the format of native programs: lines `module CLASS`, `thread T
 * PARENT NTH`, `step THREAD ORDINAL KIND MODULE OFFSET`. A module is a class; an offset is the
 * number of a site in its class.
 */
final class Schedule {
    final ArrayList<String> classes = new ArrayList<String>();
    private final Map<Long, Integer> threads = new HashMap<Long, Integer>();
    private int nextIndex = 1;
    private int count;
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
            } else if (w[0].equals("step")) {
                step(w);
            }
        } catch (RuntimeException e) {
            throw new IOException("not a schedule: " + line);
        }
    }

    private void step(String[] w) {
        if (count == thread.length) {
            thread = java.util.Arrays.copyOf(thread, count * 2);
            ordinal = java.util.Arrays.copyOf(ordinal, count * 2);
            kind = java.util.Arrays.copyOf(kind, count * 2);
            module = java.util.Arrays.copyOf(module, count * 2);
            offset = java.util.Arrays.copyOf(offset, count * 2);
        }
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

    int thread() {
        return thread[next];
    }

    long ordinal() {
        return ordinal[next];
    }

    int kind() {
        return kind[next];
    }

    boolean matches(int kind, int site) {
        return this.kind[next] == kind && (module[next] < 0
            || Sites.is(site, classes.get(module[next]), offset[next]));
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
        return Kind.NAMES[kind[next]] + " number " + ordinal[next] + " of thread " + thread[next]
            + location;
    }
}
