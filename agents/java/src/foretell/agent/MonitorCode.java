package foretell.agent;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Code of a method that locks a monitor. The virtual machine compiles a method only if it sees that
 * it unlocks what it has locked, whatever throws: the handlers' ranges and the variable with the
 * lock must tell so after the hooks were added.
 */
final class MonitorCode implements Opcodes {
    private final ClassNode owner;
    private final MethodNode m;
    /** Variable with the class that a static synchronized method locks. */
    private final int lockVariable;

    MonitorCode(ClassNode owner, MethodNode m) {
        this.owner = owner;
        this.m = m;
        lockVariable = m.maxLocals;
    }

    /** Returns the first variable that the method does not use. */
    int freeVariable() {
        return lockVariable + (isStaticSynchronized(m) ? 1 : 0);
    }

    AbstractInsnNode loadLock(boolean isStatic) {
        return new VarInsnNode(ALOAD, isStatic ? lockVariable : 0);
    }

    AbstractInsnNode storeLock() {
        return new VarInsnNode(ASTORE, lockVariable);
    }

    static boolean isStaticSynchronized(MethodNode m) {
        int both = ACC_STATIC | ACC_SYNCHRONIZED;
        return (m.access & both) == both;
    }

    /**
     * Adds the variable of the lock to the stack maps. The exits of the method load the class from
     * there: two constants need not be the same for the virtual machine.
     */
    void addLockToFrames() {
        for (AbstractInsnNode n = m.instructions.getFirst(); n != null; n = n.getNext()) {
            if (n instanceof FrameNode) {
                addLock(((FrameNode) n).local);
            }
        }
    }

    /** Adds the variable of the lock to the types of the variables in an expanded frame. */
    private void addLock(List<Object> locals) {
        int end = 0;
        for (Object type : locals) {
            end += type == LONG || type == DOUBLE ? 2 : 1;
        }
        while (end++ < lockVariable) {
            locals.add(TOP);
        }
        locals.add("java/lang/Class");
    }

    /** Returns the frame of a handler of all exceptions, which unlocks what the method has locked. */
    FrameNode handlerFrame(boolean locks, boolean isStatic) {
        ArrayList<Object> locals = new ArrayList<Object>();
        if (locks && isStatic) {
            addLock(locals);
        } else if (locks) {
            locals.add(owner.name);
        }
        Object[] stack = {"java/lang/Throwable"};
        return new FrameNode(hasExpandedFrames() ? F_NEW : F_FULL, locals.size(), locals.toArray(),
            1, stack);
    }

    private boolean hasExpandedFrames() {
        for (AbstractInsnNode n = m.instructions.getFirst(); n != null; n = n.getNext()) {
            if (n instanceof FrameNode) {
                return ((FrameNode) n).type == F_NEW;
            }
        }
        return false;
    }

    /**
     * Ends the handlers' ranges that end after the release of a monitor right after it, before the
     * hook: an exception from there would have the handler release the monitor again.
     */
    void endRangesAfter(AbstractInsnNode release) {
        LabelNode end = null;
        AbstractInsnNode next = release.getNext().getNext().getNext();
        for (; next != null && next.getOpcode() < 0; next = next.getNext()) {
            for (TryCatchBlockNode block : m.tryCatchBlocks) {
                if (block.end == next) {
                    if (end == null) {
                        end = new LabelNode();
                        m.instructions.insert(release, end);
                    }
                    block.end = end;
                }
            }
        }
    }

    /**
     * Returns the release of a monitor with which a handler begins, or null. Only after it may the
     * handler wait for the baton: the virtual machine compiles no method in which a call may throw
     * where nothing else releases the monitor. No other thread enters the monitor that early, since
     * its logical state is locked.
     */
    static AbstractInsnNode release(AbstractInsnNode first) {
        AbstractInsnNode n = first.getNext();
        while (n != null && (n.getOpcode() < 0 || n.getOpcode() == ASTORE || n.getOpcode() == ALOAD
            || n.getOpcode() == DUP)) {
            n = n.getNext();
        }
        return n != null && n.getOpcode() == MONITOREXIT ? n : null;
    }

    /** Whether the object that a synchronized method locks can be loaded anywhere in it. */
    boolean canLock() {
        if ((m.access & ACC_STATIC) != 0) {
            return (owner.version & 0xffff) >= V1_5;
        }
        for (AbstractInsnNode n = m.instructions.getFirst(); n != null; n = n.getNext()) {
            if (n.getOpcode() == ASTORE && ((VarInsnNode) n).var == 0) {
                return false;
            }
        }
        return true;
    }
}
