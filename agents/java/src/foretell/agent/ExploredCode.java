package foretell.agent;

import foretell.rt.Options;
import foretell.rt.Unexplored;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;

/**
 * Code whose every outcome an exploration knows: fields, monitors, threads, locks and atomics, and
 * methods of the platform that have no state. Everything else in a class of the program is noted,
 * whether it runs or not, and keeps the exploration from being complete.
 */
final class ExploredCode {
    private static final String ATOMIC = "<init> get set compareAndSet getAndSet";
    private static final String NUMBER = ATOMIC + " incrementAndGet decrementAndGet addAndGet"
        + " getAndIncrement getAndDecrement getAndAdd length intValue longValue";
    /** Methods that are known, by class; `*` stands for all, a descriptor for one of several. */
    private static final Map<String, Set<String>> KNOWN = new HashMap<String, Set<String>>();

    private static void known(String methods, String... owners) {
        for (String owner : owners) {
            KNOWN.put(owner, new HashSet<String>(Arrays.asList(methods.split(" "))));
        }
    }

    static {
        known("<init> getClass equals wait()V notify notifyAll", "java/lang/Object");
        known("<init> run start join()V yield onSpinWait currentThread getName setName",
            "java/lang/Thread");
        known("run", "java/lang/Runnable");
        known("*", "java/lang/String", "java/lang/StringBuilder", "java/lang/Math",
            "java/lang/Character", "java/lang/Byte", "java/lang/Short", "java/lang/Float",
            "java/lang/Double", "java/lang/Enum", "java/io/PrintStream");
        known("valueOf intValue longValue parseInt parseLong toString equals compare compareTo sum"
            + " max min", "java/lang/Integer", "java/lang/Long");
        known("valueOf booleanValue parseBoolean toString equals", "java/lang/Boolean");
        known("requireNonNull equals", "java/util/Objects");
        known("exit", "java/lang/System");
        known("desiredAssertionStatus getName getSimpleName", "java/lang/Class");
        String atomic = "java/util/concurrent/atomic/Atomic";
        known(ATOMIC, atomic + "Boolean", atomic + "Reference", atomic + "ReferenceArray");
        known(NUMBER, atomic + "Integer", atomic + "Long", atomic + "IntegerArray",
            atomic + "LongArray");
        String locks = "java/util/concurrent/locks/";
        known("<init> lock unlock tryLock()Z newCondition", locks + "ReentrantLock",
            locks + "Lock");
        known("await()V signal signalAll", locks + "Condition");
    }

    private final ClassNode node;
    private final ClassHierarchy types;
    private final Options options;
    private MethodNode method;

    private ExploredCode(ClassNode node, ClassHierarchy types, Options options) {
        this.node = node;
        this.types = types;
        this.options = options;
    }

    /** Notes what an exploration does not know of a class that is about to be rewritten. */
    static void note(ClassNode node, ClassHierarchy types, Options options) {
        new ExploredCode(node, types, options).look();
    }

    private void look() {
        String name = node.name.replace('/', '.');
        if (options.selectsClasses()) {
            Unexplored.add("call", "some classes are not recorded");
        }
        if (!isKnownParent(node.superName)) {
            Unexplored.add("call", name + " extends " + node.superName.replace('/', '.'));
        }
        for (MethodNode m : node.methods) {
            method = m;
            if (m.name.equals("<clinit>") && !isMain(name)) {
                Unexplored.add("call", "the initialiser of class " + name
                    + " runs in the thread that uses the class first");
            }
            if (m.name.equals("finalize") && m.desc.equals("()V")) {
                Unexplored.add("call", name + ".finalize");
            }
            if ((m.access & Opcodes.ACC_NATIVE) != 0) {
                Unexplored.add("call", name + "." + m.name + " is native");
            }
            for (AbstractInsnNode insn : m.instructions.toArray()) {
                if (insn instanceof MethodInsnNode) {
                    MethodInsnNode call = (MethodInsnNode) insn;
                    call(call.owner, call.name, call.desc);
                } else if (insn instanceof InvokeDynamicInsnNode) {
                    dynamic((InvokeDynamicInsnNode) insn);
                }
            }
        }
    }

    /** Whether the virtual machine initialises a class before it calls `main`. */
    private static boolean isMain(String name) {
        String command = System.getProperty("sun.java.command", "");
        return command.equals(name) || command.startsWith(name + " ");
    }

    private boolean isKnownParent(String parent) {
        return parent.equals("java/lang/Object") || parent.equals("java/lang/Thread")
            || parent.equals("java/lang/Enum") || isFailure(parent)
            || !ClassHierarchy.isPlatform(parent) && ClassRewriter.isRecorded(parent, options);
    }

    /** Whether a class is an exception or error of the platform, by its name. */
    private static boolean isFailure(String type) {
        return ClassHierarchy.isPlatform(type)
            && (type.endsWith("Exception") || type.endsWith("Error")
                || type.equals("java/lang/Throwable"));
    }

    private void dynamic(InvokeDynamicInsnNode insn) {
        String factory = insn.bsm.getOwner();
        if (factory.equals("java/lang/invoke/StringConcatFactory")) {
            return;
        }
        if (!factory.equals("java/lang/invoke/LambdaMetafactory")) {
            unknown(factory, insn.bsm.getName(), "");
            return;
        }
        for (Object argument : insn.bsmArgs) {
            if (argument instanceof Handle) {
                Handle target = (Handle) argument;
                call(target.getOwner(), target.getName(), target.getDesc());
            }
        }
    }

    private void call(String owner, String name, String desc) {
        String declaring = owner;
        if (owner.startsWith("[")) {
            unknown(owner, name, desc);
            return;
        }
        if (!ClassHierarchy.isPlatform(owner)) {
            declaring = types.declaring(owner, name + desc);
            if (declaring == null) {
                unknown(owner, name, desc);
                return;
            }
            if (!ClassHierarchy.isPlatform(declaring)) {
                if (!ClassRewriter.isRecorded(declaring, options)) {
                    unknown(owner, name, desc);
                }
                return;
            }
        }
        if (isFailure(declaring) && (name.equals("<init>") || name.equals("getMessage"))
            || declaring.startsWith("java/util/function/")) {
            return;
        }
        Set<String> methods = KNOWN.get(declaring);
        boolean startsInInitialiser = method.name.equals("<clinit>") && name.equals("start");
        if (methods == null || startsInInitialiser
            || !methods.contains("*") && !methods.contains(name)
                && !methods.contains(name + desc)) {
            unknown(declaring, name, desc);
        }
    }

    private void unknown(String owner, String name, String desc) {
        boolean isTimed = desc.startsWith("(J")
            && (name.startsWith("wait") || name.startsWith("await") || name.startsWith("join")
                || name.startsWith("try") || name.startsWith("poll") || name.startsWith("get"))
            || name.endsWith("Nanos") || name.endsWith("Until");
        Unexplored.add(isTimed ? "timed" : "call", node.name.replace('/', '.') + "." + method.name
            + " calls " + owner.replace('/', '.') + "." + name);
    }
}
