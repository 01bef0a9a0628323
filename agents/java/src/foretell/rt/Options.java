package foretell.rt;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.util.Properties;

/** Options of the run, read from a file of properties that `foretell` writes. */
public final class Options {
    public final String log;
    public final String mode;
    public final long seed;
    public final long quantum;
    public final String schedule;
    public final long stallSeconds;
    public final String[] include;
    public final String[] exclude;
    /** Patterns of methods whose calls are atomic blocks. */
    public final String[] atomic;
    /** Names of annotations that make a method an atomic block. */
    public final String[] annotations;
    /** Patterns of classes whose objects end with a call of `close`. */
    public final String[] resources;
    /** Names of annotations of such classes. */
    public final String[] resourceAnnotations;
    public final boolean verbose;
    /** Whether a replay is recorded after the last step of its schedule, too. */
    public final boolean recordsOn;
    /** Path of a descriptor of the process that reads the log; it vanishes with the process. */
    public final String reader;

    /** Whether virtual machines below a test runner are recorded, each with a log of its own. */
    public final boolean below;

    private Options(Properties p) {
        String more = p.getProperty("more");
        below = more != null;
        log = below ? ProcessFiles.log(more) : p.getProperty("log");
        mode = p.getProperty("mode", "record");
        seed = Long.parseUnsignedLong(p.getProperty("seed", "0"));
        quantum = Math.max(1, Long.parseUnsignedLong(p.getProperty("quantum", "1000")));
        schedule = p.getProperty("schedule");
        stallSeconds = Long.parseLong(p.getProperty("stall", "10"));
        include = list(p, "include");
        exclude = list(p, "exclude");
        atomic = list(p, "atomic");
        annotations = list(p, "annotations");
        resources = list(p, "resources");
        resourceAnnotations = list(p, "resource-annotations");
        verbose = p.containsKey("verbose");
        recordsOn = p.containsKey("records-on");
        reader = p.getProperty("reader");
    }

    /** Whether only some of the program's classes are recorded. */
    public boolean selectsClasses() {
        return include.length + exclude.length > 0;
    }

    public static Options read(String path) throws IOException {
        Properties p = new Properties();
        InputStream in = new FileInputStream(path);
        try {
            Reader reader = new InputStreamReader(in, "UTF-8");
            p.load(reader);
        } finally {
            in.close();
        }
        return new Options(p);
    }

    private static String[] list(Properties p, String key) {
        String value = p.getProperty(key, "").trim();
        return value.isEmpty() ? new String[0] : value.split(",");
    }

    /** Whether a pattern matches the whole of a name: `*` is any text, `?` any character. */
    public static boolean matches(String pattern, String name) {
        int p = 0;
        int n = 0;
        int star = -1;
        int retry = 0;
        while (n < name.length()) {
            char c = p < pattern.length() ? pattern.charAt(p) : 0;
            if (c == '*') {
                star = p++;
                retry = n;
            } else if (p < pattern.length() && (c == '?' || c == name.charAt(n))) {
                p++;
                n++;
            } else if (star >= 0) {
                p = star + 1;
                n = ++retry;
            } else {
                return false;
            }
        }
        while (p < pattern.length() && pattern.charAt(p) == '*') {
            p++;
        }
        return p == pattern.length();
    }
}
