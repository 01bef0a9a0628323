package foretell.agent;

import foretell.rt.Hidden;
import foretell.rt.Hooks;
import foretell.rt.Options;
import foretell.rt.Unexplored;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Transformer of the program's classes: adds the calls of the hooks. A class that cannot be
 * rewritten stays as it is, and the tables name it.
 */
final class ClassRewriter implements ClassFileTransformer {
    private static final String OBJECT = "java/lang/Object";
    static final String RECORDED_OBJECT = "foretell/rt/RecordedObject";

    private final Options options;
    private final Tables tables;
    /** Whether a class loader finds the runtime. */
    private final Map<ClassLoader, Boolean> seesRuntime = new WeakHashMap<ClassLoader, Boolean>();
    private final Map<ClassLoader, ClassHierarchy> types = new WeakHashMap<ClassLoader, ClassHierarchy>();

    ClassRewriter(Options options, Tables tables) {
        this.options = options;
        this.tables = tables;
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined,
                            ProtectionDomain domain,
                            byte[] bytes) {
        if (loader == null || name == null || redefined != null
            || !isRecorded(name, options)) {
            return null;
        }
        try {
            if (!seesRuntime(loader)) {
                return leftAlone(name, "its class loader does not find the runtime");
            }
            return rewrite(loader, bytes);
        } catch (Throwable e) {
            return leftAlone(name, e.toString());
        }
    }

    private byte[] leftAlone(String name, String why) {
        Unexplored.add("call", name.replace('/', '.') + " is not recorded");
        try {
            tables.write("N\t" + name.replace('/', '.') + " was left alone: "
                + why.replace('\n', ' ') + "\n");
        } catch (IOException e) {
            // The disk is full, so there is no file to write the note to.
        }
        return null;
    }

    /** Whether a class is to be recorded, by its name with slashes. */
    static boolean isRecorded(String name, Options options) {
        if (ClassHierarchy.isPlatform(name) || name.startsWith("foretell/")) {
            return false;
        }
        String dotted = name.replace('/', '.');
        for (String pattern : options.exclude) {
            if (Options.matches(pattern, dotted)) {
                return false;
            }
        }
        for (String pattern : options.include) {
            if (Options.matches(pattern, dotted)) {
                return true;
            }
        }
        return options.include.length == 0;
    }

    private synchronized boolean seesRuntime(ClassLoader loader) {
        Boolean sees = seesRuntime.get(loader);
        if (sees == null) {
            try {
                sees = Class.forName(Hooks.class.getName(), false, loader) == Hooks.class;
            } catch (ClassNotFoundException e) {
                sees = false;
            } catch (LinkageError e) {
                sees = false;
            }
            seesRuntime.put(loader, sees);
        }
        return sees;
    }

    private synchronized ClassHierarchy types(ClassLoader loader) {
        ClassHierarchy t = types.get(loader);
        if (t == null) {
            t = new ClassHierarchy(loader);
            types.put(loader, t);
        }
        return t;
    }

    private byte[] rewrite(ClassLoader loader, byte[] bytes) throws IOException {
        ClassNode node = ClassVersions.readToRewrite(bytes);
        Tables.ClassTable table = tables.begin(node.name, node.superName, node.sourceFile);
        Set<String> finals = new HashSet<String>();
        for (FieldNode f : node.fields) {
            table.field(f.name, f.access, f.desc);
            if ((f.access & Opcodes.ACC_FINAL) != 0) {
                finals.add(f.name);
            }
        }
        boolean extendsRecordedObject = OBJECT.equals(node.superName)
            && (node.access & Opcodes.ACC_INTERFACE) == 0
            && (node.access & Opcodes.ACC_MODULE) == 0;
        Wrappers wrappers = new Wrappers(node);
        types(loader).add(node);
        ExploredCode.note(node, types(loader), options);
        for (MethodNode m : node.methods) {
            if (m.instructions.size() > 0) {
                new MethodRewriter(node, m, finals, extendsRecordedObject, table, types(loader),
                    options, wrappers).rewrite();
            }
        }
        wrappers.finish();
        if (extendsRecordedObject) {
            node.superName = RECORDED_OBJECT;
        }
        byte[] rewritten = ClassVersions.write(node, bytes);
        table.write();
        Hidden.recorded(node.name.replace('/', '.'));
        return rewritten;
    }
}
