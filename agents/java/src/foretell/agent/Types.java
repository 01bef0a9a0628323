package foretell.agent;

import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.Map;
import org.objectweb.asm.ClassReader;

/**
 * Whether one class is another's subclass, found out without loading a class of the program: classes of the
 * platform are asked themselves, those of the program are read from their class loader.
 */
final class Types {
    private final ClassLoader loader;
    private final Map<String, Boolean> known = new HashMap<String, Boolean>();

    Types(ClassLoader loader) {
        this.loader = loader;
    }

    /** Whether `name` (with slashes) is `target` or a class below it; false where it cannot be found out. */
    boolean isA(String name, Class<?> target) {
        String key = name + ">" + target.getName();
        Boolean answer = known.get(key);
        if (answer == null) {
            answer = ask(name, target, 0);
            known.put(key, answer);
        }
        return answer;
    }

    private boolean ask(String name, Class<?> target, int depth) {
        if (depth > 50 || name == null || name.startsWith("[")) {
            return false;
        }
        if (name.replace('/', '.').equals(target.getName())) {
            return true;
        }
        if (platform(name)) {
            try {
                return target.isAssignableFrom(Class.forName(name.replace('/', '.'), false, null));
            } catch (ClassNotFoundException e) {
                return false;
            } catch (LinkageError e) {
                return false;
            }
        }
        ClassReader reader = read(name);
        if (reader == null) {
            return false;
        }
        if (ask(reader.getSuperName(), target, depth + 1)) {
            return true;
        }
        for (String i : reader.getInterfaces()) {
            if (ask(i, target, depth + 1)) {
                return true;
            }
        }
        return false;
    }

    static boolean platform(String name) {
        return name.startsWith("java/") || name.startsWith("javax/") || name.startsWith("jdk/")
            || name.startsWith("sun/") || name.startsWith("com/sun/");
    }

    private ClassReader read(String name) {
        if (loader == null) {
            return null;
        }
        try {
            InputStream in = loader.getResourceAsStream(name + ".class");
            if (in == null) {
                return null;
            }
            try {
                return new ClassReader(in);
            } finally {
                in.close();
            }
        } catch (IOException e) {
            return null;
        } catch (RuntimeException e) {
            return null;
        }
    }
}
