package foretell.agent;

import foretell.rt.Options;
import foretell.rt.Resources;
import java.util.List;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AnnotationNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;

/** Meaning of methods that options and annotations give: atomic blocks, uses of resources. */
final class Marks {
    private Marks() {
    }

    /** Whether calls of a method are atomic blocks. */
    static boolean isAtomic(ClassNode owner, MethodNode m, Options options) {
        return isNamed(owner.name.replace('/', '.') + "." + m.name, options.atomic)
            || isAnnotated(m.visibleAnnotations, options.annotations)
            || isAnnotated(m.invisibleAnnotations, options.annotations);
    }

    /** Whether a method is one of a resource that another class may call. */
    static boolean isOfResource(ClassNode owner, MethodNode m, Options options) {
        int own = Opcodes.ACC_STATIC | Opcodes.ACC_PRIVATE | Opcodes.ACC_SYNTHETIC;
        if ((m.access & own) != 0 || !Resources.isUse(m.name)) {
            return false;
        }
        return isNamed(owner.name.replace('/', '.'), options.resources)
            || isAnnotated(owner.visibleAnnotations, options.resourceAnnotations)
            || isAnnotated(owner.invisibleAnnotations, options.resourceAnnotations);
    }

    /** Whether a pattern is about a name, with or without the package and the outer class. */
    private static boolean isNamed(String name, String[] patterns) {
        for (String pattern : patterns) {
            if (Options.matches(pattern, name) || Options.matches("*." + pattern, name)
                || Options.matches("*$" + pattern, name)) {
                return true;
            }
        }
        return false;
    }

    private static boolean isAnnotated(List<AnnotationNode> annotations, String[] names) {
        if (annotations != null) {
            for (AnnotationNode a : annotations) {
                String name = Type.getType(a.desc).getClassName();
                String simple = name.substring(Math.max(name.lastIndexOf('.'),
                    name.lastIndexOf('$')) + 1);
                for (String wanted : names) {
                    if (wanted.equals(simple) || wanted.equals(name)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }
}
