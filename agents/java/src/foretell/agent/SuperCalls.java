package foretell.agent;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Calls of `super.lock()` and the like, from a recorded subclass of a modelled class. No method of
 * the runtime can make such a call: there is a hook before it and a hook after it.
 */
final class SuperCalls implements Opcodes {
    private static final String HELPER = "foretell/rt/Synchronizers";
    private static final Class<?>[] TYPES = {Lock.class, Semaphore.class, CountDownLatch.class,
        CyclicBarrier.class};
    /** Modelled methods with their parameters. */
    private static final Set<String> METHODS = new HashSet<String>(Arrays.asList("lock()",
        "lockInterruptibly()", "tryLock()", "tryLock(JLjava/util/concurrent/TimeUnit;)", "unlock()",
        "acquire()", "acquire(I)", "acquireUninterruptibly()", "acquireUninterruptibly(I)",
        "tryAcquire()", "tryAcquire(I)", "tryAcquire(JLjava/util/concurrent/TimeUnit;)",
        "release()", "release(I)", "countDown()", "await()",
        "await(JLjava/util/concurrent/TimeUnit;)"));

    private SuperCalls() {
    }

    /** Whether a call is one of a modelled method of the platform. */
    static boolean isModelled(MethodInsnNode call, ClassHierarchy types) {
        String method = call.name + call.desc.substring(0, call.desc.indexOf(')') + 1);
        if (!METHODS.contains(method) || !types.isInherited(call.owner, call.name, call.desc)) {
            return false;
        }
        for (Class<?> type : TYPES) {
            if (types.isA(call.owner, type)) {
                return true;
            }
        }
        return false;
    }

    /** Adds the hooks around a call. */
    static void hook(MethodNode m, MethodInsnNode call, int site) {
        InsnList before = new InsnList();
        boolean counts = call.desc.startsWith("(I)");
        before.add(counts ? new InsnNode(DUP) : new InsnNode(ICONST_1));
        before.add(new VarInsnNode(ALOAD, 0));
        before.add(new InsnNode(SWAP));
        before.add(new LdcInsnNode(call.name));
        before.add(MethodRewriter.number(site));
        before.add(new MethodInsnNode(INVOKESTATIC, HELPER, "beforeSuper",
            "(Ljava/lang/Object;ILjava/lang/String;I)V", false));
        m.instructions.insertBefore(call, before);
        InsnList after = new InsnList();
        after.add(new InsnNode(call.desc.endsWith("V") ? ICONST_1 : DUP));
        after.add(new VarInsnNode(ALOAD, 0));
        after.add(new LdcInsnNode(call.name));
        after.add(MethodRewriter.number(site));
        after.add(new MethodInsnNode(INVOKESTATIC, HELPER, "afterSuper",
            "(ILjava/lang/Object;Ljava/lang/String;I)V", false));
        m.instructions.insert(call, after);
    }
}
