package foretell.agent;

import foretell.rt.Sites;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Writer of the tables file: the classes, fields, methods and sites that the numbers in the log
 * stand for. Each line is a record with tabs between its fields. The lines of a class are written
 * at once, before the class can run.
 */
final class Tables {
    /** Bit of a field's access flags: it holds a reference. */
    private static final int REFERENCE = 1 << 24;

    private final OutputStream out;
    private final AtomicInteger classes = new AtomicInteger();
    private final AtomicInteger methods = new AtomicInteger();

    Tables(String path) throws IOException {
        out = new FileOutputStream(path);
    }

    synchronized void write(String text) throws IOException {
        out.write(text.getBytes("UTF-8"));
    }

    ClassTable begin(String name, String superName, String source) {
        return new ClassTable(name, superName, source);
    }

    private static String escaped(String s) {
        return s.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r",
            "\\r");
    }

    /** Lines of one class. */
    final class ClassTable {
        final int number = classes.incrementAndGet();
        private final String name;
        private final String source;
        private final StringBuilder text = new StringBuilder();
        private int siteCount;

        private ClassTable(String name, String superName, String source) {
            this.name = name;
            String simple = name.substring(name.lastIndexOf('/') + 1);
            this.source = source != null ? source : simple;
            line("C", number, name, superName, this.source);
        }

        private void line(String tag, Object... fields) {
            text.append(tag);
            for (Object f : fields) {
                text.append('\t').append(f == null ? "" : escaped(f.toString()));
            }
            text.append('\n');
        }

        void field(String field, int access, String desc) {
            boolean reference = desc.startsWith("L") || desc.startsWith("[");
            line("F", number, field, reference ? access | REFERENCE : access);
        }

        int method(String method) {
            int n = methods.incrementAndGet();
            line("M", n, number, method);
            return n;
        }

        /** Adds a site; one of an access has the class and the name of the field. */
        int site(int method, int line, String owner, String field) {
            int ordinal = siteCount++;
            int n = Sites.add(name, source, ordinal, line);
            line("S", n, number, ordinal, method, line, owner, field);
            return n;
        }

        void write() throws IOException {
            Tables.this.write(text.toString());
        }
    }
}
