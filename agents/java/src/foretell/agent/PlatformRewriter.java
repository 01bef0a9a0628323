package foretell.agent;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * The few methods of the platform that the runtime has to know of, whoever calls them: how threads start, end, are joined and
 * interrupted, and how everything in java.util.concurrent blocks, which is LockSupport.
 */
final class PlatformRewriter implements ClassFileTransformer, Opcodes {
    private static final String THREAD = "java/lang/Thread";
    private static final String SUPPORT = "java/util/concurrent/locks/LockSupport";

    private final List<String> missing = new ArrayList<String>();
    private Throwable failed;

    Class<?>[] classes() {
        return new Class<?>[] {Thread.class, java.util.concurrent.locks.LockSupport.class};
    }

    /** What could not be found in this version of the platform. */
    void complain() {
        if (failed != null) {
            throw new IllegalStateException("foretell: cannot rewrite the platform's classes", failed);
        }
        for (String name : missing) {
            System.err.println("foretell: this platform has no " + name + ": recording may be wrong");
        }
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain,
                            byte[] bytes) {
        if (loader != null || redefined == null) {
            return null;
        }
        try {
            if (THREAD.equals(name)) {
                return thread(bytes);
            }
            if (SUPPORT.equals(name)) {
                return support(bytes);
            }
        } catch (Throwable e) {
            failed = e;
        }
        return null;
    }

    private byte[] thread(byte[] bytes) {
        ClassNode c = read(bytes);
        MethodNode start = find(c, "start()V");
        enter(start, call("starting", "(Ljava/lang/Thread;)V", ALOAD, 0));
        leave(start, "started", "(Ljava/lang/Thread;)V");
        enter(find(c, "exit()V"), call("ended", "(Ljava/lang/Thread;)V", ALOAD, 0));
        enter(find(c, "dispatchUncaughtException(Ljava/lang/Throwable;)V"),
            call("uncaught", "(Ljava/lang/Thread;Ljava/lang/Throwable;)V", ALOAD, 0, ALOAD, 1));
        leave(find(c, "interrupt()V"), "interrupted", "(Ljava/lang/Thread;)V");
        instead(find(c, "join(J)V"), call("join", "(Ljava/lang/Thread;J)Z", ALOAD, 0, LLOAD, 1));
        return write(c);
    }

    private byte[] support(byte[] bytes) {
        ClassNode c = read(bytes);
        InsnList forever = new InsnList();
        forever.add(new org.objectweb.asm.tree.LdcInsnNode(-1L));
        forever.add(new MethodInsnNode(INVOKESTATIC, MethodRewriter.HOOKS, "park", "(J)Z", false));
        instead(find(c, "park()V"), copy(forever));
        instead(find(c, "park(Ljava/lang/Object;)V"), forever);
        instead(find(c, "parkNanos(J)V"), call("parkNanos", "(J)Z", LLOAD, 0));
        instead(find(c, "parkNanos(Ljava/lang/Object;J)V"), call("parkNanos", "(J)Z", LLOAD, 1));
        instead(find(c, "parkUntil(J)V"), call("parkUntil", "(J)Z", LLOAD, 0));
        instead(find(c, "parkUntil(Ljava/lang/Object;J)V"), call("parkUntil", "(J)Z", LLOAD, 1));
        instead(find(c, "unpark(Ljava/lang/Thread;)V"), call("unpark", "(Ljava/lang/Thread;)Z", ALOAD, 0));
        return write(c);
    }

    private static InsnList copy(InsnList list) {
        InsnList copy = new InsnList();
        for (AbstractInsnNode n : list.toArray()) {
            copy.add(n.clone(null));
        }
        return copy;
    }

    private static ClassNode read(byte[] bytes) {
        ClassNode c = new ClassNode();
        new ClassReader(bytes).accept(c, 0);
        return c;
    }

    private static byte[] write(ClassNode c) {
        ClassWriter writer = new ClassWriter(ClassWriter.COMPUTE_MAXS);
        c.accept(writer);
        return writer.toByteArray();
    }

    private MethodNode find(ClassNode c, String nameAndDesc) {
        for (MethodNode m : c.methods) {
            if (nameAndDesc.equals(m.name + m.desc)) {
                return m;
            }
        }
        missing.add(c.name.replace('/', '.') + "." + nameAndDesc);
        return null;
    }

    /** A call of a hook with some of the method's variables: pairs of an opcode and a number. */
    private static InsnList call(String name, String desc, int... variables) {
        InsnList list = new InsnList();
        for (int i = 0; i < variables.length; i += 2) {
            list.add(new VarInsnNode(variables[i], variables[i + 1]));
        }
        list.add(new MethodInsnNode(INVOKESTATIC, MethodRewriter.HOOKS, name, desc, false));
        return list;
    }

    private static void enter(MethodNode m, InsnList hook) {
        if (m != null) {
            m.instructions.insert(hook);
        }
    }

    private static void leave(MethodNode m, String hook, String desc) {
        if (m == null) {
            return;
        }
        for (AbstractInsnNode n : m.instructions.toArray()) {
            if (n.getOpcode() == RETURN) {
                m.instructions.insertBefore(n, call(hook, desc, ALOAD, 0));
            }
        }
    }

    /** Returns at once if the hook has done the work. */
    private static void instead(MethodNode m, InsnList hook) {
        if (m == null) {
            return;
        }
        LabelNode go = new LabelNode();
        hook.add(new JumpInsnNode(IFEQ, go));
        hook.add(new InsnNode(RETURN));
        hook.add(go);
        hook.add(new FrameNode(F_SAME, 0, null, 0, null));
        m.instructions.insert(hook);
    }
}
