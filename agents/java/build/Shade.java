import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.commons.ClassRemapper;
import org.objectweb.asm.commons.Remapper;

/**
 * Builds the agent's jar from the agent's classes and those of ASM. ASM is moved to a package of
 * the agent's, so that a program can have its own version of it; the platform's `Unsafe` takes the
 * place of the class that stands for it. Usage: `Shade OUT.jar CLASSES...
 * ASM.jar...`
 */
public final class Shade {
    private static final String FROM = "org/objectweb/asm/";
    private static final String TO = "foretell/asm/";
    /** Class that stands for one of the platform's, and the class of Java 8 that uses it. */
    private static final String UNSAFE = "foretell/rt/Unsafe";
    private static final String OLD_MEMORY = "foretell/rt/OldMemory";

    /** Classes and tables by their path in the jar. */
    private final TreeMap<String, byte[]> classes = new TreeMap<String, byte[]>();

    public static void main(String[] args) throws IOException {
        Shade shade = new Shade();
        for (int i = 1; i < args.length; i++) {
            File input = new File(args[i]);
            if (input.isDirectory()) {
                shade.directory(input, "");
            } else {
                shade.jar(input);
            }
        }
        shade.write(new File(args[0]));
    }

    private void directory(File directory, String prefix) throws IOException {
        for (File f : directory.listFiles()) {
            if (f.isDirectory()) {
                directory(f, prefix + f.getName() + "/");
            } else if (f.getName().endsWith(".class")) {
                InputStream in = new FileInputStream(f);
                add(all(in));
                in.close();
            } else if (f.getName().endsWith(".txt")) {
                InputStream in = new FileInputStream(f);
                classes.put(prefix + f.getName(), all(in));
                in.close();
            }
        }
    }

    private void jar(File file) throws IOException {
        JarInputStream in = new JarInputStream(new FileInputStream(file));
        for (JarEntry e = in.getNextJarEntry(); e != null; e = in.getNextJarEntry()) {
            String name = e.getName();
            if (name.endsWith(".class") && name.startsWith(FROM)) {
                add(all(in));
            }
        }
        in.close();
    }

    private void add(byte[] bytes) {
        ClassWriter writer = new ClassWriter(0);
        ClassReader reader = new ClassReader(bytes);
        if (reader.getClassName().equals(UNSAFE)) {
            return;
        }
        final boolean old = reader.getClassName().equals(OLD_MEMORY);
        reader.accept(new ClassRemapper(writer, new Remapper() {
            @Override
            public String map(String name) {
                if (name.equals(UNSAFE)) {
                    return old ? "sun/misc/Unsafe" : "jdk/internal/misc/Unsafe";
                }
                return name.startsWith(FROM) ? TO + name.substring(FROM.length()) : name;
            }
        }), 0);
        byte[] remapped = writer.toByteArray();
        classes.put(new ClassReader(remapped).getClassName() + ".class", remapped);
    }

    private void write(File file) throws IOException {
        String text = "Manifest-Version: 1.0\nPremain-Class: foretell.agent.Agent\n"
            + "Boot-Class-Path: " + file.getName() + "\nCan-Retransform-Classes: true\n";
        Manifest manifest = new Manifest(new java.io.ByteArrayInputStream(text.getBytes("UTF-8")));
        JarOutputStream out = new JarOutputStream(new FileOutputStream(file), manifest);
        for (String name : classes.keySet()) {
            JarEntry entry = new JarEntry(name);
            entry.setTime(0);
            out.putNextEntry(entry);
            out.write(classes.get(name));
            out.closeEntry();
        }
        out.close();
    }

    private static byte[] all(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[1 << 14];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            out.write(buffer, 0, n);
        }
        return out.toByteArray();
    }
}
