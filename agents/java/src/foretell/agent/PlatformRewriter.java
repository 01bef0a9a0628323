package foretell.agent;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
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
 * Transformer of the platform's classes that the runtime must hear from, whichever code calls them:
 * start, end, join and interruption of threads, LockSupport (by which all of java.util.concurrent
 * blocks), and the tasks of executors and futures.
 */
final class PlatformRewriter implements ClassFileTransformer, Opcodes {
    private static final String PERMITS = "foretell/rt/Permits";
    private static final String THREAD = "java/lang/Thread";
    private static final String SUPPORT = "java/util/concurrent/locks/LockSupport";

    private final List<String> missing = new ArrayList<String>();
    private Throwable failed;

    private static final String JUC = "java/util/concurrent/";
    private static final String FUTURE = JUC + "CompletableFuture";
    private static final String VIEW = JUC + "locks/ReentrantReadWriteLock$";
    private static final String TIMER = "java/util/Timer";
    private static final String BUILDERS = "java/lang/ThreadBuilders";
    /** Classes with hooks of tasks or locks, as the nested classes of {@link #FUTURE} have. */
    private static final Set<String> HOOKED = new HashSet<String>(Arrays.asList(
        JUC + "FutureTask", JUC + "ThreadPoolExecutor", JUC + "ForkJoinTask", JUC + "ForkJoinPool",
        JUC + "CountedCompleter", FUTURE, JUC + "CyclicBarrier",
        JUC + "Executors$DelegatedExecutorService", JUC + "ThreadPerTaskExecutor",
        VIEW + "ReadLock", VIEW + "WriteLock", TIMER, TIMER + "Thread"));

    /** Whether this transformer rewrites a class. */
    private static boolean isRewritten(String name) {
        return name.equals(THREAD) || name.equals(SUPPORT) || name.equals(BUILDERS)
            || HOOKED.contains(name) || name.startsWith(FUTURE + "$");
    }

    /**
     * Loads the classes that this transformer rewrites. A class that is loaded while the program's
     * classes are being rewritten would not be rewritten itself.
     */
    static void load() {
        for (String name : HOOKED) {
            try {
                Class.forName(name.replace('/', '.'), false, null);
            } catch (ClassNotFoundException e) {
                // This version of the platform does not have the class.
            }
        }
    }

    /** Returns the classes that are loaded already and must be transformed again. */
    List<Class<?>> alreadyLoaded(Class<?>[] all) {
        List<Class<?>> found = new ArrayList<Class<?>>();
        for (Class<?> c : all) {
            if (c.getClassLoader() == null && isRewritten(c.getName().replace('.', '/'))) {
                found.add(c);
            }
        }
        return found;
    }

    /** Reports methods that this version of the platform does not have. */
    void reportMissing() {
        if (failed != null) {
            throw new IllegalStateException("foretell: cannot rewrite the platform's classes",
                failed);
        }
        for (String name : missing) {
            System.err.println("foretell: this platform has no " + name
                + ": recording may be wrong");
        }
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined,
                            ProtectionDomain domain,
                            byte[] bytes) {
        if (loader != null || name == null || !isRewritten(name)) {
            return null;
        }
        try {
            if (name.startsWith(TIMER) || name.startsWith(JUC) && !name.equals(SUPPORT)) {
                return tasks(name, bytes);
            }
            if (BUILDERS.equals(name)) {
                return builders(bytes);
            }
            if (THREAD.equals(name)) {
                return thread(bytes);
            }
            if (SUPPORT.equals(name)) {
                return support(bytes);
            }
        } catch (Throwable e) {
            failed = e;
            System.err.println("foretell: cannot rewrite " + name.replace('/', '.') + ": " + e);
        }
        return null;
    }

    private byte[] thread(byte[] bytes) {
        ClassNode c = ClassVersions.read(bytes);
        MethodNode start = find(c, "start()V");
        enter(start, call("starting", "(Ljava/lang/Thread;)V", ALOAD, 0));
        leave(start, "started", "(Ljava/lang/Thread;)V");
        for (MethodNode m : c.methods) {
            // Threads of an executor with a thread for each task, since Java 19.
            if (m.name.equals("start") && m.desc.endsWith("/ThreadContainer;)V")) {
                enter(m, call("starting", "(Ljava/lang/Thread;)V", ALOAD, 0));
                leave(m, "started", "(Ljava/lang/Thread;)V");
            }
        }
        enter(find(c, "exit()V"), call("ended", "(Ljava/lang/Thread;)V", ALOAD, 0));
        enter(find(c, "dispatchUncaughtException(Ljava/lang/Throwable;)V"),
            call("uncaught", "(Ljava/lang/Thread;Ljava/lang/Throwable;)V", ALOAD, 0, ALOAD, 1));
        leave(find(c, "interrupt()V"), "interrupted", "(Ljava/lang/Thread;)V");
        returnIfHandled(find(c, "join(J)V"), call("join", "(Ljava/lang/Thread;J)Z", ALOAD, 0,
            LLOAD, 1));
        return ClassVersions.write(c, bytes);
    }

    /**
     * Gives each virtual thread a thread of the operating system, as on a platform without
     * continuations. A thread that waits for the baton then takes no carrier from other threads.
     */
    private byte[] builders(byte[] bytes) {
        ClassNode c = ClassVersions.read(bytes);
        for (MethodNode m : c.methods) {
            for (AbstractInsnNode n : m.instructions.toArray()) {
                if (n.getOpcode() == INVOKESTATIC
                    && ((MethodInsnNode) n).owner.endsWith("/ContinuationSupport")
                    && ((MethodInsnNode) n).name.equals("isSupported")) {
                    m.instructions.set(n, new InsnNode(ICONST_0));
                }
            }
        }
        return ClassVersions.write(c, bytes);
    }

    private byte[] support(byte[] bytes) {
        ClassNode c = ClassVersions.read(bytes);
        InsnList forever = new InsnList();
        forever.add(new org.objectweb.asm.tree.LdcInsnNode(-1L));
        forever.add(new MethodInsnNode(INVOKESTATIC, PERMITS, "park", "(J)Z", false));
        returnIfHandled(find(c, "park()V"), copy(forever));
        returnIfHandled(find(c, "park(Ljava/lang/Object;)V"), forever);
        returnIfHandled(find(c, "parkNanos(J)V"), callOf(PERMITS, "parkNanos", "(J)Z",
            LLOAD, 0));
        returnIfHandled(find(c, "parkNanos(Ljava/lang/Object;J)V"),
            callOf(PERMITS, "parkNanos", "(J)Z", LLOAD, 1));
        returnIfHandled(find(c, "parkUntil(J)V"), callOf(PERMITS, "parkUntil", "(J)Z",
            LLOAD, 0));
        returnIfHandled(find(c, "parkUntil(Ljava/lang/Object;J)V"),
            callOf(PERMITS, "parkUntil", "(J)Z", LLOAD, 1));
        returnIfHandled(find(c, "unpark(Ljava/lang/Thread;)V"),
            callOf(PERMITS, "unpark", "(Ljava/lang/Thread;)Z", ALOAD, 0));
        return ClassVersions.write(c, bytes);
    }

    // Tasks: order of submission, run and completion.

    private byte[] tasks(String name, byte[] bytes) {
        ClassNode c = ClassVersions.read(bytes);
        for (MethodNode m : c.methods) {
            if (m.instructions.size() == 0) {
                continue;
            }
            if (name.startsWith(VIEW)) {
                if (m.name.equals("<init>")) {
                    constructed(m, "foretell/rt/Locks", "viewOf");
                }
            } else if (name.equals(JUC + "Executors$DelegatedExecutorService")) {
                if (m.name.equals("<init>")) {
                    constructed(m, "foretell/rt/Tasks", "wraps");
                }
            } else if (name.equals(JUC + "ThreadPerTaskExecutor")) {
                if (m.name.equals("taskComplete") || m.name.startsWith("shutdown")) {
                    enter(m, task("completes", 0));
                }
            } else if (name.equals(JUC + "CyclicBarrier")) {
                if (m.name.equals("dowait")) {
                    replaceRun(m, "foretell/rt/Synchronizers", "runAction");
                }
            } else if (name.startsWith(TIMER)) {
                timer(m);
            } else if (name.equals(JUC + "FutureTask")) {
                futureTask(m);
            } else if (name.equals(JUC + "ThreadPoolExecutor")) {
                executor(m);
            } else if (name.equals(JUC + "ForkJoinPool")) {
                if (m.desc.startsWith("(Ljava/util/concurrent/ForkJoinTask;)")
                    || m.name.equals("execute") && m.desc.equals("(Ljava/lang/Runnable;)V")) {
                    boolean handsOver = m.name.equals("execute") || m.name.equals("submit")
                        || m.name.equals("invoke");
                    if (handsOver) {
                        enter(m, task("submitted", 1));
                    }
                } else if (m.name.equals("deregisterWorker") || m.name.startsWith("shutdown")) {
                    enter(m, task("completes", 0));
                }
            } else if (name.equals(JUC + "ForkJoinTask")) {
                forkJoinTask(m);
            } else if (name.equals(JUC + "CountedCompleter")) {
                if (m.name.equals("tryComplete") || m.name.equals("propagateCompletion")
                    || m.name.equals("complete")) {
                    InsnList root = new InsnList();
                    root.add(new VarInsnNode(ALOAD, 0));
                    root.add(new MethodInsnNode(INVOKEVIRTUAL, c.name, "getRoot",
                        "()Ljava/util/concurrent/CountedCompleter;", false));
                    root.add(hook("partCompleted"));
                    enter(m, root);
                }
            } else if (name.equals(FUTURE)) {
                completableFuture(m);
            } else if (m.name.equals("tryFire")) {
                completion(c, m);
            }
        }
        return ClassVersions.write(c, bytes);
    }

    private static MethodInsnNode hook(String name) {
        return new MethodInsnNode(INVOKESTATIC, "foretell/rt/Tasks", name, "(Ljava/lang/Object;)V",
            false);
    }

    private static InsnList task(String name, int variable) {
        InsnList list = new InsnList();
        list.add(new VarInsnNode(ALOAD, variable));
        list.add(hook(name));
        return list;
    }

    private static void leaveTask(MethodNode m, String name) {
        for (AbstractInsnNode n : m.instructions.toArray()) {
            if (n.getOpcode() >= IRETURN && n.getOpcode() <= RETURN) {
                m.instructions.insertBefore(n, task(name, 0));
            }
        }
    }

    private static void futureTask(MethodNode m) {
        switch (m.name) {
            case "<init>": leaveTask(m, "submitted"); break;
            case "run": enter(m, task("begins", 0)); break;
            case "runAndReset":
                // The next run follows this one.
                leaveTask(m, "submitted");
                enter(m, task("begins", 0));
                break;
            case "set": case "setException": case "cancel": enter(m, task("completes", 0)); break;
            case "report": enter(m, task("completionSeen", 0)); break;
            default: break;
        }
    }

    /** Timers: each run of a task follows its submission, and the run before it. */
    private static void timer(MethodNode m) {
        if (m.name.equals("sched")) {
            enter(m, task("submitted", 1));
        } else if (m.name.equals("mainLoop")) {
            replaceRun(m, "foretell/rt/Tasks", "run");
        }
    }

    private static void executor(MethodNode m) {
        if (m.name.equals("execute")) {
            enter(m, task("submitted", 1));
        } else if (m.name.equals("runWorker")) {
            replaceRun(m, "foretell/rt/Tasks", "run");
        } else if (m.name.equals("processWorkerExit") || m.name.startsWith("shutdown")) {
            enter(m, task("completes", 0));
        } else if (m.name.equals("tryTerminate")) {
            // The program may override `terminated`.
            for (AbstractInsnNode n : m.instructions.toArray()) {
                if (n.getOpcode() == INVOKEVIRTUAL
                    && ((MethodInsnNode) n).name.equals("terminated")) {
                    m.instructions.insert(n, task("completes", 0));
                }
            }
        }
    }

    /** Replaces calls of `Runnable.run` by calls of a method of the runtime. */
    private static void replaceRun(MethodNode m, String owner, String name) {
        for (AbstractInsnNode n : m.instructions.toArray()) {
            boolean runs = n.getOpcode() == INVOKEINTERFACE
                && ((MethodInsnNode) n).owner.equals("java/lang/Runnable")
                || n.getOpcode() == INVOKEVIRTUAL
                && ((MethodInsnNode) n).owner.equals("java/util/TimerTask")
                && ((MethodInsnNode) n).name.equals("run");
            if (runs) {
                m.instructions.set(n, new MethodInsnNode(INVOKESTATIC, owner, name,
                    "(Ljava/lang/Runnable;)V", false));
            }
        }
    }

    private static void forkJoinTask(MethodNode m) {
        boolean isStatic = (m.access & ACC_STATIC) != 0;
        switch (m.name) {
            case "<init>": leaveTask(m, "submitted"); break;
            case "fork": enter(m, task("submitted", 0)); break;
            case "doExec": enter(m, task("begins", 0)); break;
            case "setDone": case "setCompletion": enter(m, task("completes", 0)); break;
            case "join": case "get": case "invoke": case "quietlyJoin": case "quietlyInvoke":
                if (!isStatic) {
                    leaveTask(m, "completionSeen");
                }
                break;
            case "invokeAll": invokeAll(m); break;
            default: break;
        }
    }

    /** `invokeAll` of two tasks: the caller sees that both are complete. */
    private static void invokeAll(MethodNode m) {
        if (m.desc.equals("(Ljava/util/concurrent/ForkJoinTask;Ljava/util/concurrent/ForkJoinTask;)V")) {
            for (AbstractInsnNode n : m.instructions.toArray()) {
                if (n.getOpcode() == RETURN) {
                    m.instructions.insertBefore(n, task("completionSeen", 0));
                    m.instructions.insertBefore(n, task("completionSeen", 1));
                }
            }
        }
    }

    private static void completableFuture(MethodNode m) {
        boolean isStatic = (m.access & ACC_STATIC) != 0;
        if (isStatic || m.name.equals("<init>")) {
            if (m.desc.equals("(Ljava/lang/Object;)V") && !isStatic) {
                // A future that is complete from the beginning.
                leaveTask(m, "completes");
            }
            return;
        }
        if (m.name.startsWith("complete") || m.name.equals("internalComplete")
            || m.name.startsWith("obtrude")) {
            if (!m.name.endsWith("Async") && !m.name.equals("completeOnTimeout")) {
                enter(m, task("completes", 0));
            }
            return;
        }
        // A thread that asks a completed future for anything has seen that it is complete.
        if ((m.access & ACC_PUBLIC) != 0) {
            enter(m, result());
            if (m.name.startsWith("then") || m.name.startsWith("when")
                || m.name.startsWith("handle")) {
                enter(m, task("dependentAdded", 0));
            }
        }
        for (AbstractInsnNode n : m.instructions.toArray()) {
            boolean reports = n.getOpcode() == INVOKESTATIC
                && ((MethodInsnNode) n).name.startsWith("report");
            if (reports) {
                m.instructions.insertBefore(n, result());
            }
        }
    }

    /** Hook with a completable future and its result. */
    private static InsnList result() {
        InsnList list = new InsnList();
        list.add(new VarInsnNode(ALOAD, 0));
        list.add(new VarInsnNode(ALOAD, 0));
        list.add(new org.objectweb.asm.tree.FieldInsnNode(GETFIELD, FUTURE, "result",
            "Ljava/lang/Object;"));
        list.add(new MethodInsnNode(INVOKESTATIC, "foretell/rt/Tasks", "resultSeen",
            "(Ljava/lang/Object;Ljava/lang/Object;)V", false));
        return list;
    }

    /**
     * Stage that depends on a completion: it was submitted, and sees the completions of its
     * sources.
     */
    private static void completion(ClassNode c, MethodNode m) {
        InsnList list = task("fires", 0);
        boolean bi = c.superName.endsWith("$BiCompletion");
        if (bi || c.superName.endsWith("$UniCompletion")) {
            list.add(source("$UniCompletion", "src"));
        }
        if (bi) {
            list.add(source("$BiCompletion", "snd"));
        }
        enter(m, list);
    }

    private static InsnList source(String owner, String field) {
        InsnList list = new InsnList();
        list.add(new VarInsnNode(ALOAD, 0));
        list.add(new org.objectweb.asm.tree.FieldInsnNode(GETFIELD, FUTURE + owner, field,
            "L" + FUTURE + ";"));
        list.add(hook("completionSeen"));
        return list;
    }

    private static InsnList copy(InsnList list) {
        InsnList copy = new InsnList();
        for (AbstractInsnNode n : list.toArray()) {
            copy.add(n.clone(null));
        }
        return copy;
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

    /** Call of a hook with some of the method's variables: pairs of an opcode and a number. */
    private static InsnList call(String name, String desc, int... variables) {
        return callOf(MethodRewriter.HOOKS, name, desc, variables);
    }

    private static InsnList callOf(String owner, String name, String desc, int... variables) {
        InsnList list = new InsnList();
        for (int i = 0; i < variables.length; i += 2) {
            list.add(new VarInsnNode(variables[i], variables[i + 1]));
        }
        list.add(new MethodInsnNode(INVOKESTATIC, owner, name, desc, false));
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

    /** Calls a method of the runtime with `this` and the argument at the end of a constructor. */
    private static void constructed(MethodNode m, String owner, String name) {
        for (AbstractInsnNode n : m.instructions.toArray()) {
            if (n.getOpcode() == RETURN) {
                InsnList list = new InsnList();
                list.add(new VarInsnNode(ALOAD, 0));
                list.add(new VarInsnNode(ALOAD, 1));
                list.add(new MethodInsnNode(INVOKESTATIC, owner, name,
                    "(Ljava/lang/Object;Ljava/lang/Object;)V", false));
                m.instructions.insertBefore(n, list);
            }
        }
    }

    /** Adds a return at the entry of a method, taken if the hook returns true. */
    private static void returnIfHandled(MethodNode m, InsnList hook) {
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
