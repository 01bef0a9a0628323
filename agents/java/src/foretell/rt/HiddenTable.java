package foretell.rt;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Table of the platform's classes whose calls use less than the usual hidden state, or more. */
public final class HiddenTable {
    /** State that a call uses. */
    public enum Use {
        /** Receiver, arguments, and the class of a static method. */
        ALL,
        PURE, MODELLED, VALUES, OWN, STATELESS, KERNEL, ANYTHING
    }

    private static final class Line {
        /** Null: the section about copies. */
        final Use use;
        final String name;
        final boolean prefix;
        final boolean subclasses;
        /** Methods that the line is about, or not about; null: it is about all of them. */
        final String[] methods;
        final boolean except;

        Line(Use use, String text) {
            this.use = use;
            int colon = text.indexOf(": ");
            String type = colon < 0 ? text : text.substring(0, colon);
            prefix = type.endsWith("*");
            subclasses = type.endsWith("+");
            name = prefix || subclasses ? type.substring(0, type.length() - 1) : type;
            String list = colon < 0 ? "" : text.substring(colon + 2).trim();
            except = list.startsWith("-");
            methods = list.isEmpty() ? null : list.replace("-", "").split(" +");
        }

        boolean isAbout(String method) {
            if (methods == null) {
                return true;
            }
            if (method == null) {
                return except;
            }
            for (String m : methods) {
                if (m.equals(method) || m.endsWith("*")
                    && method.startsWith(m.substring(0, m.length() - 1))) {
                    return !except;
                }
            }
            return except;
        }

        boolean fits(String type, List<String> supertypes) {
            return prefix ? type.startsWith(name)
                : name.equals(type) || subclasses && supertypes.contains(name);
        }
    }

    /** Lines of the section about waits. */
    private static final List<Line> WAITS = new ArrayList<Line>();
    /** Lines of the section about resources. */
    private static final List<Line> RESOURCES = new ArrayList<Line>();
    private static final List<Line> LINES = read();

    private HiddenTable() {
    }

    private static List<Line> read() {
        List<Line> lines = new ArrayList<Line>();
        InputStream in = ClassLoader.getSystemResourceAsStream("foretell/rt/hidden.txt");
        if (in == null) {
            throw new IllegalStateException("foretell: the agent has no table of hidden calls");
        }
        try {
            BufferedReader reader = new BufferedReader(new InputStreamReader(in, "UTF-8"));
            Use use = Use.ALL;
            List<Line> to = lines;
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                if (line.startsWith("[")) {
                    String section = line.substring(1, line.indexOf(']'));
                    to = section.equals("waits") ? WAITS
                        : section.equals("resources") ? RESOURCES : lines;
                    use = to != lines ? Use.ALL : section.equals("fresh") ? null
                        : Use.valueOf(section.toUpperCase());
                } else if (!line.isEmpty() && !line.startsWith("#")) {
                    to.add(new Line(use, line));
                }
            }
            reader.close();
        } catch (IOException e) {
            throw new IllegalStateException("foretell: cannot read the table of hidden calls", e);
        }
        return lines;
    }

    /** Returns the names of a class's superclasses and of all interfaces. */
    static List<String> supertypes(Class<?> type) {
        List<String> names = new ArrayList<String>();
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            add(c, names);
        }
        return names;
    }

    private static void add(Class<?> type, List<String> names) {
        if (!names.contains(type.getName())) {
            names.add(type.getName());
            for (Class<?> i : type.getInterfaces()) {
                add(i, names);
            }
        }
    }

    /**
     * Returns the use of a method; null: no line fits. A null method asks for objects of the class
     * as arguments.
     */
    private static Use find(String type, List<String> supertypes, String method) {
        for (Line line : LINES) {
            if (line.use != null && line.isAbout(method) && line.fits(type, supertypes)) {
                return line.use;
            }
        }
        return null;
    }

    /**
     * Returns the use of a method of an object of class `type`; `declaring` is the class whose code
     * runs. Null asks for objects of the class as arguments.
     */
    static Use of(Class<?> type, Class<?> declaring, String method) {
        if (type.isArray()) {
            return method == null || method.equals("clone") ? Use.ALL : Use.PURE;
        }
        Use use = find(type.getName(), supertypes(type), method);
        if (use == null && declaring != type) {
            use = find(declaring.getName(), supertypes(declaring), method);
        }
        boolean immutable = type.isEnum() || type.getSuperclass() != null
            && (type.getSuperclass().isEnum()
                || type.getSuperclass().getName().equals("java.lang.Record"));
        return use != null ? use : immutable ? Use.VALUES : Use.ALL;
    }

    /**
     * Returns the use of a method by the name of a class alone, which is certain for a static
     * method and for a final class.
     */
    public static Use ofName(String type, String method) {
        Use use = find(type, Arrays.asList(type), method);
        return use == null ? Use.ALL : use;
    }

    /** Whether a line about a class and all its subclasses exempts a method. */
    public static boolean isExemptWithSubclasses(String type, String method) {
        for (Line line : LINES) {
            if (line.use != null && line.isAbout(method) && line.name.equals(type)) {
                return line.subclasses && (line.use == Use.PURE || line.use == Use.MODELLED);
            }
        }
        return false;
    }

    /** Whether a wait in a method of a class ends by another use of the same object, or by time. */
    static boolean explainsWaits(Class<?> type) {
        return hasLine(WAITS, type);
    }

    /** Whether an object of a class ends with a call of `close`. */
    static boolean isResource(Class<?> type) {
        return hasLine(RESOURCES, type);
    }

    private static boolean hasLine(List<Line> lines, Class<?> type) {
        for (Line line : lines) {
            if (line.fits(type.getName(), supertypes(type))) {
                return true;
            }
        }
        return false;
    }

    /** Whether the result of a method shares no state with receiver and arguments. */
    static boolean isFresh(Class<?> type, String method) {
        String name = type.isArray() ? "java.lang.Object[]" : type.getName();
        for (Line line : LINES) {
            if (line.use == null && line.isAbout(method) && line.fits(name, Arrays.asList(name))) {
                return true;
            }
        }
        return false;
    }
}
