package foretell.agent;

import foretell.rt.AccessModes;
import foretell.rt.Options;
import foretell.rt.Resources;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.IntInsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LineNumberNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Rewriter of one method. Added instructions work on the operand stack alone and have no branches,
 * so that the stack maps of the class stay valid, but for a variable with the class that a static
 * synchronized method locks. The only new map is that of the handler at the end; its frame has the
 * exception and, in a synchronized method, the object that is locked.
 */
final class MethodRewriter implements Opcodes {
    static final String HOOKS = "foretell/rt/Hooks";
    private static final String OBJ = "Ljava/lang/Object;";

    private final ClassNode owner;
    private final MethodNode m;
    private final Set<String> finals;
    private final boolean extendsRecordedObject;
    private final Tables.ClassTable table;
    private final ClassHierarchy types;
    private final Options options;
    private final Wrappers wrappers;
    private final boolean isConstructor;
    private int method;
    private int line;
    private boolean hooked;
    private final MonitorCode monitors;
    /** First variable that the method does not use. */
    private final int freeVariable;
    /** End of the variables of hidden calls. */
    private int endOfVariables;
    /**
     * In a constructor: the call of `super(...)` or `this(...)`, before which `this` is not
     * initialised.
     */
    private AbstractInsnNode constructorCall;
    /**
     * Types of objects under construction, innermost last. An entry with opcode NOP has no second
     * reference on the stack.
     */
    private final ArrayList<TypeInsnNode> underConstruction = new ArrayList<TypeInsnNode>();
    private final Map<Integer, Integer> callSites = new HashMap<Integer, Integer>();

    MethodRewriter(ClassNode owner, MethodNode m, Set<String> finals,
                   boolean extendsRecordedObject, Tables.ClassTable table, ClassHierarchy types,
                   Options options, Wrappers wrappers) {
        this.owner = owner;
        this.m = m;
        this.finals = finals;
        this.extendsRecordedObject = extendsRecordedObject;
        this.table = table;
        this.types = types;
        this.options = options;
        this.wrappers = wrappers;
        isConstructor = m.name.equals("<init>");
        monitors = new MonitorCode(owner, m);
        freeVariable = monitors.freeVariable();
        endOfVariables = freeVariable;
    }

    void rewrite() {
        method = table.method(owner.name.replace('/', '.') + "." + m.name);
        for (AbstractInsnNode n = m.instructions.getFirst(); n != null; n = n.getNext()) {
            if (n instanceof LineNumberNode) {
                line = ((LineNumberNode) n).line;
                break;
            }
        }
        int firstLine = line;
        for (AbstractInsnNode insn : m.instructions.toArray()) {
            instruction(insn);
        }
        if (isConstructor && constructorCall == null) {
            // No compiler writes such a constructor.
            return;
        }
        hookHandlers();
        line = firstLine;
        addEntryAndExits();
    }

    // Building blocks.

    static AbstractInsnNode number(int n) {
        if (n >= -1 && n <= 5) {
            return new InsnNode(ICONST_0 + n);
        }
        if (n <= Short.MAX_VALUE) {
            return new IntInsnNode(n <= Byte.MAX_VALUE ? BIPUSH : SIPUSH, n);
        }
        return new LdcInsnNode(n);
    }

    private static MethodInsnNode hook(String name, String desc) {
        return runtimeCall(HOOKS, name, desc);
    }

    private static MethodInsnNode runtimeCall(String owner, String name, String desc) {
        return new MethodInsnNode(INVOKESTATIC, owner, name, desc, false);
    }

    int site() {
        hooked = true;
        return table.site(method, line, null, null);
    }

    private int site(FieldInsnNode f) {
        hooked = true;
        return table.site(method, line, f.owner, f.name);
    }

    /** Inserts instructions without operands before an instruction. */
    private void before(AbstractInsnNode insn, int... opcodes) {
        for (int op : opcodes) {
            m.instructions.insertBefore(insn, new InsnNode(op));
        }
    }

    /** Builder of the instructions to insert after an instruction. */
    private static final class After {
        private final InsnList list = new InsnList();

        After op(int opcode) {
            list.add(new InsnNode(opcode));
            return this;
        }

        After hook(int site, String name, String desc) {
            list.add(number(site));
            list.add(MethodRewriter.hook(name, desc));
            return this;
        }

        After add(AbstractInsnNode insn) {
            list.add(insn);
            return this;
        }
    }

    private void after(AbstractInsnNode insn, After what) {
        m.instructions.insert(insn, what.list);
    }

    // Instructions.

    private void instruction(AbstractInsnNode insn) {
        if (insn instanceof LineNumberNode) {
            line = ((LineNumberNode) insn).line;
            return;
        }
        int op = insn.getOpcode();
        if (op >= IALOAD && op <= SALOAD) {
            load(insn, op);
        } else if (op >= IASTORE && op <= SASTORE) {
            store(insn, op);
        } else if (op == GETFIELD || op == PUTFIELD || op == GETSTATIC || op == PUTSTATIC) {
            field((FieldInsnNode) insn, op);
        } else if (op == MONITORENTER) {
            before(insn, DUP);
            m.instructions.insertBefore(insn, number(site()));
            m.instructions.insertBefore(insn, hook("lock", "(" + OBJ + "I)V"));
        } else if (op == MONITOREXIT) {
            before(insn, DUP);
            after(insn, new After().hook(site(), "unlock", "(" + OBJ + "I)V"));
            monitors.endRangesAfter(insn);
        } else if (op == NEW) {
            boolean doubled = insn.getNext() != null && insn.getNext().getOpcode() == DUP;
            TypeInsnNode made = (TypeInsnNode) insn;
            underConstruction.add(doubled ? made : new TypeInsnNode(NOP, made.desc));
        } else if (op == NEWARRAY || op == ANEWARRAY || op == MULTIANEWARRAY) {
            after(insn, new After().op(DUP).hook(site(), "allocated", "(" + OBJ + "I)V"));
        } else if (op >= INVOKEVIRTUAL && op <= INVOKEDYNAMIC) {
            call(insn);
        }
    }

    private static String valueDescriptor(String desc) {
        switch (desc.charAt(0)) {
            case 'J': case 'F': case 'D': return desc;
            case 'L': case '[': return OBJ;
            default: return "I";
        }
    }

    private void field(FieldInsnNode f, int op) {
        boolean isStatic = op == GETSTATIC || op == PUTSTATIC;
        boolean own = f.owner.equals(owner.name);
        boolean beforeConstructor = isConstructor && constructorCall == null && !isStatic;
        if (own && finals.contains(f.name) || beforeConstructor
            || isStatic && ClassHierarchy.isPlatform(f.owner)) {
            return;
        }
        boolean wide = Type.getType(f.desc).getSize() == 2;
        String value = valueDescriptor(f.desc);
        int site = site(f);
        switch (op) {
            case GETSTATIC:
                after(f, new After().op(wide ? DUP2 : DUP).hook(site, "readStatic",
                    "(" + value + "I)V"));
                break;
            case PUTSTATIC:
                before(f, wide ? DUP2 : DUP);
                after(f, new After().hook(site, "writeStatic", "(" + value + "I)V"));
                break;
            case GETFIELD:
                before(f, DUP);
                after(f, new After().op(wide ? DUP2_X1 : DUP_X1).hook(site, "read",
                    "(" + OBJ + value + "I)V"));
                break;
            default:
                if (wide) {
                    // Duplicates (object, value).
                    before(f, DUP2_X1, POP2, DUP_X2, DUP_X2, POP, DUP2_X1);
                } else {
                    before(f, DUP2);
                }
                after(f, new After().hook(site, "write", "(" + OBJ + value + "I)V"));
        }
    }

    private static String elementDescriptor(int op, int first) {
        switch (op - first) {
            case 1: return "J";
            case 2: return "F";
            case 3: return "D";
            case 4: return OBJ;
            default: return "I";
        }
    }

    private void load(AbstractInsnNode insn, int op) {
        String value = elementDescriptor(op, IALOAD);
        boolean wide = value.equals("J") || value.equals("D");
        before(insn, DUP2);
        int copy = wide ? DUP2_X2 : DUP_X2;
        after(insn, new After().op(copy).hook(site(), "load", "(" + OBJ + "I" + value + "I)V"));
    }

    private void store(AbstractInsnNode insn, int op) {
        String value = elementDescriptor(op, IASTORE);
        boolean wide = value.equals("J") || value.equals("D");
        // Puts a copy (value, array, index) below (array, index, value).
        if (wide) {
            before(insn, DUP2_X2, DUP2_X2, POP2, DUP2_X2, DUP2_X2, POP2);
        } else {
            before(insn, DUP_X2, DUP_X2, POP, DUP2_X1, DUP2_X1, POP2);
        }
        after(insn, new After().hook(site(), "store", "(" + value + OBJ + "II)V"));
    }

    // Calls.

    private void call(AbstractInsnNode insn) {
        if (insn instanceof MethodInsnNode) {
            MethodInsnNode call = (MethodInsnNode) insn;
            if (call.name.equals("<init>")) {
                construction(call);
                return;
            }
            if (replaced(call)) {
                return;
            }
        }
        if (insn instanceof InvokeDynamicInsnNode) {
            references((InvokeDynamicInsnNode) insn);
            if (!m.name.equals("<clinit>")
                && HiddenCalls.describes((InvokeDynamicInsnNode) insn)) {
                noteCall(insn);
                m.instructions.set(insn,
                    wrappers.concatenation((InvokeDynamicInsnNode) insn, site()));
                return;
            }
        }
        if (insn instanceof MethodInsnNode) {
            MethodInsnNode call = (MethodInsnNode) insn;
            if (dispatched(call)) {
                return;
            }
            if (mayBeHidden(call)) {
                HiddenCalls hidden = new HiddenCalls(call, site(), freeVariable);
                beforeHidden(call, hidden);
                noteCall(call);
                m.instructions.insert(call, hidden.after(null));
                return;
            }
        }
        noteCall(insn);
    }

    /** Whether the code that a call runs may be code that is not recorded. */
    private boolean mayBeHidden(MethodInsnNode call) {
        // Class initialisers are not recorded. Before Java 5 no instruction loads a class.
        return !m.name.equals("<clinit>") && (owner.version & 0xffff) >= V1_5
            && HiddenCalls.isPossible(call, types, options);
    }

    private void beforeHidden(AbstractInsnNode at, HiddenCalls hidden) {
        m.instructions.insertBefore(at, hidden.store());
        m.instructions.insertBefore(at, hidden.before());
        m.instructions.insertBefore(at, hidden.load());
        endOfVariables = Math.max(endOfVariables, freeVariable + hidden.variables());
    }

    /** Replaces a call that the class of the receiver decides: the runtime's, or the real one. */
    private boolean dispatched(MethodInsnNode call) {
        if (call.getOpcode() == INVOKESTATIC || call.getOpcode() == INVOKESPECIAL) {
            return false;
        }
        List<Replacements.Target> targets = Replacements.ofSubclasses(call.owner, call.name,
            call.desc);
        if (targets.isEmpty()) {
            return false;
        }
        boolean dropped = isResultDropped(call);
        boolean hidden = mayBeHidden(call);
        noteCall(call);
        wrappers.dispatch(call, site(), targets, dropped, hidden);
        return true;
    }

    /** Replaces references to methods that the runtime calls instead. */
    private void references(InvokeDynamicInsnNode insn) {
        for (int i = 0; i < insn.bsmArgs.length; i++) {
            if (insn.bsmArgs[i] instanceof Handle) {
                Handle wrapped = wrappers.reference((Handle) insn.bsmArgs[i], types, this);
                if (wrapped == null && isLambda(insn)) {
                    wrapped = wrappers.hiddenReference((Handle) insn.bsmArgs[i], types, options,
                        this);
                }
                if (wrapped != null) {
                    insn.bsmArgs[i] = wrapped;
                }
            }
        }
    }

    /** Whether an instruction makes a function object that is not serialisable. */
    private static boolean isLambda(InvokeDynamicInsnNode insn) {
        return insn.bsm.getOwner().equals("java/lang/invoke/LambdaMetafactory")
            && insn.bsm.getName().equals("metafactory");
    }

    /** Stores the call's site before the call, and waits for the baton when it returns. */
    private void noteCall(AbstractInsnNode insn) {
        Integer site = callSites.get(line);
        if (site == null) {
            site = site();
            callSites.put(line, site);
        }
        hooked = true;
        m.instructions.insertBefore(insn, number(site));
        m.instructions.insertBefore(insn, new FieldInsnNode(PUTSTATIC, HOOKS, "callSite", "I"));
        m.instructions.insert(insn, hook("afterCall", "()V"));
    }

    private void construction(MethodInsnNode call) {
        TypeInsnNode made = underConstruction.isEmpty() ? null
            : underConstruction.get(underConstruction.size() - 1);
        if (made != null && made.desc.equals(call.owner)) {
            underConstruction.remove(underConstruction.size() - 1);
            boolean doubled = made.getOpcode() == NEW;
            if (doubled) {
                after(call, new After().op(DUP).hook(site(), "allocated", "(" + OBJ + "I)V"));
            }
            noteCall(call);
            hiddenConstruction(call, doubled ? new InsnNode(DUP) : null);
            return;
        }
        if (isConstructor && constructorCall == null) {
            constructorCall = call;
            hiddenConstruction(call, new VarInsnNode(ALOAD, 0));
            if (extendsRecordedObject && call.owner.equals("java/lang/Object")) {
                call.owner = ClassRewriter.RECORDED_OBJECT;
            }
        }
    }

    /** Adds the hooks of a constructor that is not recorded. `made` loads the new object. */
    private void hiddenConstruction(MethodInsnNode call, AbstractInsnNode made) {
        if (mayBeHidden(call)) {
            HiddenCalls hidden = new HiddenCalls(call, site(), freeVariable);
            AbstractInsnNode first = call;
            // The site of the call is stored last.
            while (first.getPrevious() instanceof FieldInsnNode
                && ((FieldInsnNode) first.getPrevious()).owner.equals(HOOKS)) {
                first = first.getPrevious().getPrevious();
            }
            beforeHidden(first, hidden);
            m.instructions.insert(call, hidden.after(made));
        }
    }

    /** Replaces a call that a hook makes instead. Returns false if there is none. */
    private boolean replaced(MethodInsnNode call) {
        String key = call.name + call.desc;
        if (call.getOpcode() == INVOKEVIRTUAL) {
            if (call.owner.startsWith("[") && call.name.equals("clone")) {
                int site = site();
                HiddenCalls.replaced(site, call.owner, call.name, call.desc);
                m.instructions.insertBefore(call, number(site));
                m.instructions.set(call, runtimeCall("foretell/rt/ArrayMethods", "clone",
                    "(" + OBJ + "I)" + OBJ));
                return true;
            }
            switch (key) {
                case "wait()V": return replace(call, "await", "(" + OBJ + "I)V");
                case "wait(J)V": return replace(call, "await", "(" + OBJ + "JI)V");
                case "wait(JI)V": return replace(call, "await", "(" + OBJ + "JII)V");
                case "notify()V": return replace(call, "signal", "(" + OBJ + "I)V");
                case "notifyAll()V": return replace(call, "signalAll", "(" + OBJ + "I)V");
                default: break;
            }
        }
        if (call.getOpcode() == INVOKESTATIC && call.owner.equals("java/lang/Thread")) {
            switch (key) {
                case "sleep(J)V": return replace(call, "sleep", "(JI)V");
                case "sleep(JI)V": return replace(call, "sleep", "(JII)V");
                case "yield()V": return replace(call, "yield", "(I)V");
                default: break;
            }
        }
        if (call.getOpcode() == INVOKESPECIAL) {
            if (key.equals("clone()Ljava/lang/Object;")
                && "java/lang/Object".equals(types.declaring(call.owner, key))) {
                after(call, new After().op(DUP).add(hook("cloned", "(" + OBJ + ")V")));
                return false;
            }
            if (!SuperCalls.isModelled(call, types) || !monitors.canLock()) {
                return false;
            }
            noteCall(call);
            int site = site();
            HiddenCalls.replaced(site, call.owner, call.name, call.desc);
            SuperCalls.hook(m, call, site);
            return true;
        }
        return replacedByTable(call);
    }

    /** Replaces a call of java.util.concurrent by one of the runtime. */
    private boolean replacedByTable(MethodInsnNode call) {
        boolean isStatic = call.getOpcode() == INVOKESTATIC;
        if (Wrappers.handles(call)) {
            noteCall(call);
            wrappers.handle(call, site());
            return true;
        }
        Replacements.Target target = Replacements.find(call.owner, call.name, call.desc, isStatic,
            types);
        if (target == null) {
            return false;
        }
        String desc = target.descriptor(call.desc, isStatic);
        Integer line = callSites.get(this.line);
        int from = line == null ? site() : line;
        callSites.put(this.line, from);
        m.instructions.insertBefore(call, number(from));
        m.instructions.insertBefore(call, new FieldInsnNode(PUTSTATIC, HOOKS, "callSite", "I"));
        int site = site();
        HiddenCalls.replaced(site, call.owner, call.name, call.desc);
        AccessModes.add(site, call.owner, call.name);
        m.instructions.insertBefore(call, number(site));
        m.instructions.insert(call, hook("afterCall", "()V"));
        String name = target.name(call.name, isResultDropped(call));
        m.instructions.set(call, runtimeCall(target.helper, name, desc));
        return true;
    }

    /** Whether the program drops the result of a call. */
    private static boolean isResultDropped(MethodInsnNode call) {
        AbstractInsnNode next = call.getNext();
        // The hook after the call is already there.
        while (next != null && (next.getOpcode() < 0 || next instanceof MethodInsnNode
            && ((MethodInsnNode) next).owner.equals(HOOKS))) {
            next = next.getNext();
        }
        return next != null && next.getOpcode() == POP;
    }

    private boolean replace(MethodInsnNode call, String name, String desc) {
        m.instructions.insertBefore(call, number(site()));
        m.instructions.set(call, hook(name, desc));
        return true;
    }

    // Entry, exits and handlers of the method.

    /** Waits for the baton at the start of each handler, which is a return from a call, too. */
    private void hookHandlers() {
        ArrayList<LabelNode> done = new ArrayList<LabelNode>();
        for (TryCatchBlockNode block : m.tryCatchBlocks) {
            if (done.contains(block.handler)) {
                continue;
            }
            done.add(block.handler);
            AbstractInsnNode first = block.handler;
            while (first.getNext() != null && first.getNext().getOpcode() < 0) {
                first = first.getNext();
            }
            AbstractInsnNode release = MonitorCode.release(first);
            AbstractInsnNode before = release == null ? first
                : release.getNext() instanceof LabelNode ? release.getNext() : release;
            m.instructions.insert(before, hook("caught", "()V"));
            m.instructions.insert(first, HiddenCalls.forget(freeVariable, endOfVariables));
        }
    }

    private boolean isUnrecorded() {
        return m.name.equals("<clinit>")
            || (m.name.equals("loadClass") || m.name.equals("findClass"))
            && m.desc.startsWith("(Ljava/lang/String;")
            && m.desc.endsWith(")Ljava/lang/Class;");
    }

    /** Adds the hooks at the entry of the method and at each of its exits. */
    private void addEntryAndExits() {
        boolean locks = (m.access & ACC_SYNCHRONIZED) != 0 && monitors.canLock();
        boolean unrecorded = isUnrecorded();
        boolean atomic = Marks.isAtomic(owner, m, options);
        boolean resource = Marks.isOfResource(owner, m, options) && monitors.canLock();
        if (!hooked && !locks && !unrecorded && !atomic && !resource) {
            return;
        }
        boolean closes = resource && Resources.isClose(m.name, m.desc);
        if (closes) {
            hookReturnsOfClose();
        }
        boolean isStatic = (m.access & ACC_STATIC) != 0;
        int lockSite = locks ? site() : 0;
        InsnList begin = new InsnList();
        begin.add(number(method));
        begin.add(hook("enter", "(I)V"));
        if (unrecorded) {
            begin.add(hook("pauseRecording", "()V"));
        }
        if (atomic) {
            begin.add(number(method));
            begin.add(hook("beginBlock", "(I)V"));
        }
        if (locks) {
            m.access &= ~ACC_SYNCHRONIZED;
            if (isStatic) {
                begin.add(new LdcInsnNode(Type.getObjectType(owner.name)));
                begin.add(monitors.storeLock());
                monitors.addLockToFrames();
            }
            begin.add(monitors.loadLock(isStatic));
            begin.add(new InsnNode(DUP));
            begin.add(number(lockSite));
            begin.add(hook("lock", "(" + OBJ + "I)V"));
            begin.add(new InsnNode(MONITORENTER));
        }
        LabelNode start = new LabelNode();
        begin.add(start);
        if (resource && !closes) {
            begin.add(resourceHook("used"));
        }
        if (constructorCall != null) {
            m.instructions.insert(constructorCall, begin);
        } else {
            m.instructions.insert(begin);
        }
        int endSite = locks ? site() : 0;
        addExits(start, locks, isStatic, endSite, unrecorded, atomic);
    }

    private void hookReturnsOfClose() {
        for (AbstractInsnNode n : m.instructions.toArray()) {
            if (n.getOpcode() == RETURN) {
                m.instructions.insertBefore(n, resourceHook("closed"));
            }
        }
    }

    private InsnList resourceHook(String name) {
        InsnList list = new InsnList();
        list.add(new VarInsnNode(ALOAD, 0));
        list.add(number(site()));
        list.add(runtimeCall("foretell/rt/Resources", name, "(" + OBJ + "I)V"));
        return list;
    }

    private void addExits(LabelNode start, boolean locks, boolean isStatic, int site,
                          boolean unrecorded, boolean atomic) {
        LabelNode handler = new LabelNode();
        LabelNode from = start;
        boolean covered = false;
        for (AbstractInsnNode n = start.getNext(); n != null; n = n.getNext()) {
            int op = n.getOpcode();
            if (op >= IRETURN && op <= RETURN) {
                LabelNode to = new LabelNode();
                InsnList end = exit(locks, isStatic, site, unrecorded, atomic, to);
                m.instructions.insertBefore(n, end);
                if (covered || locks) {
                    m.tryCatchBlocks.add(new TryCatchBlockNode(from, to, handler, null));
                }
                from = new LabelNode();
                m.instructions.insert(n, from);
                n = from;
                covered = false;
            } else if (op >= 0) {
                covered = true;
            }
        }
        if (covered) {
            LabelNode to = new LabelNode();
            m.instructions.add(to);
            m.tryCatchBlocks.add(new TryCatchBlockNode(from, to, handler, null));
        }
        for (TryCatchBlockNode block : m.tryCatchBlocks) {
            if (block.handler == handler) {
                addHandler(handler, locks, isStatic, site, unrecorded, atomic);
                return;
            }
        }
    }

    private void addHandler(LabelNode handler, boolean locks, boolean isStatic, int site,
                            boolean unrecorded, boolean atomic) {
        m.instructions.add(handler);
        if ((owner.version & 0xffff) >= V1_6) {
            m.instructions.add(monitors.handlerFrame(locks, isStatic));
        }
        LabelNode to = new LabelNode();
        m.instructions.add(exit(locks, isStatic, site, unrecorded, atomic, to));
        m.instructions.insert(to, hook("caught", "()V"));
        m.instructions.add(new InsnNode(ATHROW));
        if (locks) {
            m.tryCatchBlocks.add(new TryCatchBlockNode(handler, to, handler, null));
        }
    }

    /**
     * Returns the instructions of an exit, and puts the end of the handler's range among them. The
     * handler covers all instructions, its own as well, that can throw while the monitor is held:
     * the virtual machine does not compile a method that may leave a monitor locked.
     */
    private InsnList exit(boolean locks, boolean isStatic, int site, boolean unrecorded,
                          boolean atomic, LabelNode to) {
        InsnList end = new InsnList();
        if (!locks) {
            end.add(to);
        } else {
            end.add(monitors.loadLock(isStatic));
            end.add(new InsnNode(DUP));
            end.add(new InsnNode(MONITOREXIT));
            end.add(to);
            end.add(number(site));
            end.add(hook("unlock", "(" + OBJ + "I)V"));
        }
        if (atomic) {
            end.add(hook("endBlock", "()V"));
        }
        if (unrecorded) {
            end.add(hook("resumeRecording", "()V"));
        }
        end.add(hook("leave", "()V"));
        return end;
    }
}
