package foretell.rt;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;

/**
 * Notes for an exploration: what the program has whose other outcomes are not explored. They are
 * lines of a file beside the log, a kind and a text: `output`, `timed` (a wait with a time limit),
 * `call` (anything else that an exploration does not know).
 */
public final class Unexplored {
    private static String path;
    private static final Set<String> LINES = new HashSet<String>();
    /** The thread that has written output. */
    private static Object printer;

    private Unexplored() {
    }

    /** Begins the notes of a run. */
    public static void begin(Options options) {
        int end = options.log.lastIndexOf('/');
        path = options.log.substring(0, end + 1) + "unexplored.java";
    }

    /** Adds a note. */
    public static synchronized void add(String kind, String text) {
        String line = kind + "\t" + text.replace('\n', ' ') + "\n";
        if (path == null || !LINES.add(line)) {
            return;
        }
        try {
            FileOutputStream out = new FileOutputStream(path, true);
            try {
                out.write(line.getBytes(StandardCharsets.UTF_8));
            } finally {
                out.close();
            }
        } catch (IOException e) {
            throw new IllegalStateException("foretell: " + path + ": " + e);
        }
    }

    /** Notes that a thread writes output: the order of the output of two threads is open. */
    static void printed(Object thread) {
        if (printer == null) {
            printer = thread;
        } else if (printer != thread) {
            add("output", "");
        }
    }
}
