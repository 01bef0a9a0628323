package foretell.rt;

import java.util.Arrays;

/** The places of hooks: class, number in the class, line. Numbered over all classes as they are rewritten. */
public final class Sites {
    private static String[] classes = new String[1024];
    private static String[] files = new String[1024];
    private static int[] ordinals = new int[1024];
    private static int[] lines = new int[1024];
    private static int count = 1;

    private Sites() {
    }

    /** A new place. Place 0 is none. */
    public static synchronized int add(String className, String file, int ordinal, int line) {
        if (count == ordinals.length) {
            classes = Arrays.copyOf(classes, count * 2);
            files = Arrays.copyOf(files, count * 2);
            ordinals = Arrays.copyOf(ordinals, count * 2);
            lines = Arrays.copyOf(lines, count * 2);
        }
        classes[count] = className;
        files[count] = file;
        ordinals[count] = ordinal;
        lines[count] = line;
        return count++;
    }

    static synchronized boolean is(int site, String className, long ordinal) {
        return site > 0 && site < count && ordinals[site] == ordinal && classes[site].equals(className);
    }

    static synchronized String text(int site) {
        if (site <= 0 || site >= count) {
            return "a place that is not known";
        }
        return files[site] + ":" + lines[site];
    }

    /** The line of a place of a class that this run has met: `Main.java:12`. */
    static synchronized String text(String className, long ordinal) {
        for (int i = 1; i < count; i++) {
            if (ordinals[i] == ordinal && classes[i].equals(className)) {
                return text(i);
            }
        }
        return className.replace('/', '.');
    }
}
