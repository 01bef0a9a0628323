package foretell.agent;

import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Reading and writing of classes newer than this ASM knows. The format has not changed since the
 * last version that it knows: a class is read as one of that version and gets its own back when it
 * is written.
 */
final class ClassVersions {
    /** Java 20, the newest that ASM 9.4 reads. */
    private static final int NEWEST = 64;

    private ClassVersions() {
    }

    private static int major(byte[] bytes) {
        return bytes.length < 8 ? 0 : (bytes[6] & 0xff) << 8 | bytes[7] & 0xff;
    }

    static ClassReader reader(byte[] bytes) {
        byte[] known = bytes;
        if (major(bytes) > NEWEST) {
            known = bytes.clone();
            known[6] = 0;
            known[7] = NEWEST;
        }
        return new ClassReader(known);
    }

    static ClassNode read(byte[] bytes) {
        return read(bytes, 0);
    }

    /** Returns a class; its stack maps are expanded if {@link MethodRewriter} changes them. */
    static ClassNode readToRewrite(byte[] bytes) {
        ClassNode node = read(bytes);
        for (MethodNode m : node.methods) {
            if (MonitorCode.isStaticSynchronized(m)) {
                return read(bytes, ClassReader.EXPAND_FRAMES);
            }
        }
        return node;
    }

    private static ClassNode read(byte[] bytes, int flags) {
        ClassNode node = new ClassNode();
        reader(bytes).accept(node, flags);
        return node;
    }

    /** Returns the class with the version of the bytes that it was read from. */
    static byte[] write(ClassNode node, byte[] original) {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        node.accept(writer);
        byte[] bytes = writer.toByteArray();
        bytes[6] = original[6];
        bytes[7] = original[7];
        return bytes;
    }
}
