package foretell.rt;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Source locations of hooks: class, ordinal in the class, line. Sites are numbered over all
 * classes, in the order of rewriting.
 */
public final class Sites {
    private static String[] classes = new String[1024];
    private static String[] files = new String[1024];
    private static int[] ordinals = new int[1024];
    private static int[] lines = new int[1024];
    private static int count = 1;
    private static final Set<String> REWRITTEN = new HashSet<String>();

    private Sites() {
    }

    /** Adds a site. Site 0 is none. */
    public static synchronized int add(String className, String file, int ordinal, int line) {
        if (count == ordinals.length) {
            classes = Arrays.copyOf(classes, count * 2);
            files = Arrays.copyOf(files, count * 2);
            ordinals = Arrays.copyOf(ordinals, count * 2);
            lines = Arrays.copyOf(lines, count * 2);
        }
        REWRITTEN.add(className);
        classes[count] = className;
        files[count] = file;
        ordinals[count] = ordinal;
        lines[count] = line;
        return count++;
    }

    /** Whether a class, its name with dots, has sites. */
    static synchronized boolean isRewritten(String name) {
        return REWRITTEN.contains(name.replace('.', '/'));
    }

    static synchronized boolean is(int site, String className, long ordinal) {
        return site > 0 && site < count && ordinals[site] == ordinal
            && classes[site].equals(className);
    }

    /** Returns the class and the number in it of a site. */
    static synchronized String ordinal(int site) {
        return site <= 0 || site >= count ? "an unknown one"
            : ordinals[site] + " of " + classes[site].replace('/', '.');
    }

    static synchronized String text(int site) {
        if (site <= 0 || site >= count) {
            return "an unknown location";
        }
        return files[site] + ":" + lines[site];
    }

    /** Returns the location of a site of a class that is loaded: `Main.java:12`. */
    static synchronized String text(String className, long ordinal) {
        for (int i = 1; i < count; i++) {
            if (ordinals[i] == ordinal && classes[i].equals(className)) {
                return text(i);
            }
        }
        return className.replace('/', '.');
    }
}
