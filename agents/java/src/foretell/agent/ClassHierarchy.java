package foretell.agent;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Subclass relation, found without loading a class. A class that is loaded while another is being
 * rewritten would not be rewritten itself.
 */
final class ClassHierarchy {
    private final ClassLoader loader;
    private final Map<String, Boolean> known = new HashMap<String, Boolean>();
    private final Map<String, Methods> methods = new HashMap<String, Methods>();

    /** Superclass of a class, and its methods with code. */
    private static final class Methods {
        String superName;
        final Set<String> names = new HashSet<String>();
        /** Those that no class overrides. */
        final Set<String> fixed = new HashSet<String>();

        void add(int access, String name, String desc) {
            if ((access & Opcodes.ACC_ABSTRACT) == 0) {
                names.add(name + desc);
            }
            if ((access & (Opcodes.ACC_PRIVATE | Opcodes.ACC_STATIC | Opcodes.ACC_FINAL)) != 0) {
                fixed.add(name + desc);
            }
        }
    }

    ClassHierarchy(ClassLoader loader) {
        this.loader = loader;
    }

    /**
     * Whether `name` (with slashes) is `target` or a subclass; false if its class file is not
     * found.
     */
    boolean isA(String name, Class<?> target) {
        String key = name + ">" + target.getName();
        Boolean answer = known.get(key);
        if (answer == null) {
            answer = isSubclass(name, target, 0);
            known.put(key, answer);
        }
        return answer;
    }

    private boolean isSubclass(String name, Class<?> target, int depth) {
        if (depth > 50 || name == null || name.startsWith("[")) {
            return false;
        }
        if (name.replace('/', '.').equals(target.getName())) {
            return true;
        }
        ClassReader reader = read(name);
        if (reader == null) {
            return false;
        }
        if (isSubclass(reader.getSuperName(), target, depth + 1)) {
            return true;
        }
        for (String i : reader.getInterfaces()) {
            if (isSubclass(i, target, depth + 1)) {
                return true;
            }
        }
        return false;
    }

    /** Whether a class of the platform declares the method that a class has. */
    boolean isInherited(String name, String method, String desc) {
        String at = name;
        for (int depth = 0; depth < 50 && at != null && !isPlatform(at); depth++) {
            ClassReader reader = read(at);
            if (reader == null) {
                return false;
            }
            ClassNode node = new ClassNode();
            reader.accept(node, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG);
            for (MethodNode m : node.methods) {
                if (m.name.equals(method) && m.desc.equals(desc)) {
                    return false;
                }
            }
            at = reader.getSuperName();
        }
        return at != null;
    }

    /** Adds a class that is being rewritten. */
    synchronized void add(ClassNode node) {
        Methods m = new Methods();
        m.superName = node.superName;
        for (MethodNode method : node.methods) {
            m.add(method.access, method.name, method.desc);
        }
        methods.put(node.name, m);
    }

    /**
     * Returns the class of the program that has the code of a method, by a name and a descriptor;
     * else the first superclass of the platform; null if the class files do not tell.
     */
    synchronized String declaring(String owner, String method) {
        String name = owner;
        for (int depth = 0; depth < 50 && name != null && !name.startsWith("["); depth++) {
            if (isPlatform(name)) {
                return name;
            }
            Methods m = methods(name);
            if (m == null) {
                return null;
            }
            if (m.names.contains(method)) {
                return name;
            }
            name = m.superName;
        }
        return null;
    }

    /** Whether no class overrides a method of a class of the program, such as a lambda's body. */
    synchronized boolean isFixed(String declaring, String method) {
        Methods m = methods(declaring);
        return m != null && m.fixed.contains(method);
    }

    private Methods methods(String name) {
        if (!methods.containsKey(name)) {
            ClassReader reader = read(name);
            final Methods m = reader == null ? null : new Methods();
            if (m != null) {
                m.superName = reader.getSuperName();
                reader.accept(new ClassVisitor(Opcodes.ASM9) {
                    @Override
                    public MethodVisitor visitMethod(int access, String method, String desc,
                                                     String signature, String[] exceptions) {
                        m.add(access, method, desc);
                        return null;
                    }
                }, ClassReader.SKIP_CODE | ClassReader.SKIP_DEBUG | ClassReader.SKIP_FRAMES);
            }
            methods.put(name, m);
        }
        return methods.get(name);
    }

    static boolean isPlatform(String name) {
        return name.startsWith("java/") || name.startsWith("javax/") || name.startsWith("jdk/")
            || name.startsWith("sun/") || name.startsWith("com/sun/");
    }

    private ClassReader read(String name) {
        String file = name + ".class";
        try {
            InputStream in = isPlatform(name) || loader == null
                ? ClassLoader.getSystemResourceAsStream(file)
                : loader.getResourceAsStream(file);
            if (in == null) {
                return null;
            }
            try {
                return ClassVersions.reader(readAll(in));
            } finally {
                in.close();
            }
        } catch (IOException e) {
            return null;
        } catch (RuntimeException e) {
            return null;
        }
    }

    private static byte[] readAll(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[1 << 13];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
            out.write(buffer, 0, n);
        }
        return out.toByteArray();
    }
}
