package foretell.agent;

import foretell.rt.AccessModes;
import foretell.rt.Options;
import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TryCatchBlockNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Methods added to a rewritten class: for calls of a VarHandle and calls that create one, whose
 * types only the class itself can name; for calls of field updaters, which are alike; and for
 * references to methods that the runtime replaces; for calls whose receiver's class decides whether
 * the runtime replaces them. They are private, static and synthetic.
 */
final class Wrappers implements Opcodes {
    private static final String VAR_HANDLE = "java/lang/invoke/VarHandle";
    private static final String LOOKUP = "java/lang/invoke/MethodHandles$Lookup";
    private static final String HANDLES = "foretell/rt/Handles";

    private final ClassNode owner;
    private final List<MethodNode> added = new ArrayList<MethodNode>();

    Wrappers(ClassNode owner) {
        this.owner = owner;
    }

    void finish() {
        owner.methods.addAll(added);
    }

    private MethodNode add(String desc) {
        MethodNode m = new MethodNode(ACC_PRIVATE | ACC_STATIC | ACC_SYNTHETIC,
            "foretell$" + added.size(), desc, null,
            null);
        added.add(m);
        return m;
    }

    private boolean isInterface() {
        return (owner.access & ACC_INTERFACE) != 0;
    }

    // Handles.

    /** Whether a call uses or creates a handle or an updater. */
    static boolean handles(MethodInsnNode call) {
        if (makes(call)) {
            return true;
        }
        return (call.owner.equals(VAR_HANDLE) || updater(call.owner)) && values(call) >= 0
            && coordinates(call) != null;
    }

    private static boolean makes(MethodInsnNode call) {
        boolean finds = call.name.equals("findVarHandle")
            || call.name.equals("findStaticVarHandle");
        return call.owner.equals(LOOKUP) && finds
            || call.name.equals("newUpdater") && updater(call.owner);
    }

    private static boolean updater(String owner) {
        return owner.startsWith("java/util/concurrent/atomic/") && owner.endsWith("FieldUpdater");
    }

    /** Number of values that an access takes after its coordinates; -1: not an access. */
    private static int values(MethodInsnNode call) {
        String name = call.name;
        if (updater(call.owner)) {
            switch (name) {
                case "get": case "getAndIncrement": case "getAndDecrement": case "incrementAndGet":
                case "decrementAndGet": return 0;
                case "set": case "lazySet": case "getAndSet": case "getAndAdd": case "addAndGet": return 1;
                case "compareAndSet": case "weakCompareAndSet": return 2;
                // These call a function of the program, in which other threads may run.
                default: return -1;
            }
        }
        if (name.startsWith("compareAnd") || name.startsWith("weakCompareAnd")) {
            return 2;
        }
        if (name.startsWith("getAnd") || name.equals("set") || name.equals("setVolatile")
            || name.equals("setOpaque")
            || name.equals("setRelease")) {
            return 1;
        }
        boolean gets = name.equals("get") || name.equals("getVolatile") || name.equals("getOpaque")
            || name.equals("getAcquire");
        return gets ? 0 : -1;
    }

    private static boolean updates(MethodInsnNode call) {
        return values(call) == 2 || call.name.startsWith("getAnd") || call.name.endsWith("AndGet");
    }

    /**
     * Returns the types of the coordinates: none, an object, or an array and an index; null if they
     * are different.
     */
    private static Type[] coordinates(MethodInsnNode call) {
        Type[] all = Type.getArgumentTypes(call.desc);
        int n = all.length - values(call);
        if (n < 0 || n > 2 || n >= 1 && all[0].getSort() < Type.ARRAY
            || n == 2 && all[1] != Type.INT_TYPE) {
            return null;
        }
        return java.util.Arrays.copyOf(all, n);
    }

    void handle(MethodInsnNode call, int site) {
        String receiver = call.getOpcode() == INVOKESTATIC ? "" : "L" + call.owner + ";";
        MethodNode m = add("(" + receiver + call.desc.substring(1));
        if (makes(call)) {
            making(m, call);
        } else {
            AccessModes.add(site, call.owner, call.name);
            access(m, call, site);
        }
        call.setOpcode(INVOKESTATIC);
        call.owner = owner.name;
        call.name = m.name;
        call.desc = m.desc;
        call.itf = isInterface();
    }

    /**
     * Creates the handle and records its field: the first class and the string among the arguments.
     */
    private static void making(MethodNode m, MethodInsnNode call) {
        load(m.instructions, Type.getArgumentTypes(m.desc), 0);
        m.instructions.add(new MethodInsnNode(call.getOpcode(), call.owner, call.name, call.desc,
            call.itf));
        m.instructions.add(new InsnNode(DUP));
        Type[] all = Type.getArgumentTypes(m.desc);
        int from = -1;
        int name = -1;
        for (int i = 0; i < all.length; i++) {
            if (from < 0 && all[i].getDescriptor().equals("Ljava/lang/Class;")) {
                from = i;
            }
            if (all[i].getDescriptor().equals("Ljava/lang/String;")) {
                name = i;
            }
        }
        m.instructions.add(new VarInsnNode(ALOAD, from));
        m.instructions.add(new VarInsnNode(ALOAD, name));
        m.instructions.add(new MethodInsnNode(INVOKESTATIC, HANDLES, "field",
            "(Ljava/lang/Object;Ljava/lang/Class;Ljava/lang/String;)V", false));
        m.instructions.add(new InsnNode(ARETURN));
    }

    private static int load(InsnList code, Type[] types, int from) {
        int at = from;
        for (Type t : types) {
            code.add(new VarInsnNode(t.getOpcode(ILOAD), at));
            at += t.getSize();
        }
        return at;
    }

    /** Makes the access, and reads the value before and after it if it is an update. */
    private static void access(MethodNode m, MethodInsnNode call, int site) {
        Type[] all = Type.getArgumentTypes(m.desc);
        Type[] coordinates = coordinates(call);
        Type result = Type.getReturnType(call.desc);
        int values = values(call);
        Type value = values == 0 ? result : all[all.length - 1];
        int free = 0;
        for (Type t : all) {
            free += t.getSize();
        }
        int lastValue = free - value.getSize();
        int old = free;
        int returned = old + 2;
        InsnList code = m.instructions;
        boolean updates = updates(call);
        if (updates) {
            current(code, call.owner, coordinates, value);
            code.add(new VarInsnNode(LSTORE, old));
        }
        load(code, all, 0);
        // A weak compare-and-set may fail spuriously, which a replay cannot repeat.
        String name = call.name.startsWith("weakCompareAndSet") ? "compareAndSet" : call.name;
        code.add(new MethodInsnNode(INVOKEVIRTUAL, call.owner, name, call.desc, false));
        if (result != Type.VOID_TYPE) {
            code.add(new VarInsnNode(result.getOpcode(ISTORE), returned));
        }
        code.add(new VarInsnNode(ALOAD, 0));
        base(code, coordinates);
        if (updates) {
            code.add(new VarInsnNode(LLOAD, old));
            current(code, call.owner, coordinates, value);
        } else {
            code.add(new VarInsnNode(value.getOpcode(ILOAD), values == 0 ? returned : lastValue));
            asLong(code, value);
        }
        code.add(MethodRewriter.number(site));
        // The plain modes of a handle are accesses like those of the field itself.
        boolean plain = call.owner.equals(VAR_HANDLE)
            && (call.name.equals("get") || call.name.equals("set"));
        String hook = values == 2 ? "exchanged" : updates ? "updated" : values == 0
            ? plain ? "readPlain" : "read" : plain ? "wrotePlain" : "wrote";
        code.add(new MethodInsnNode(INVOKESTATIC, HANDLES, hook,
            "(Ljava/lang/Object;Ljava/lang/Object;I" + (updates ? "JJ" : "J") + "I)V", false));
        if (result != Type.VOID_TYPE) {
            code.add(new VarInsnNode(result.getOpcode(ILOAD), returned));
        }
        code.add(new InsnNode(result.getOpcode(IRETURN)));
    }

    /** Loads the current value as a long. */
    private static void current(InsnList code, String owner, Type[] coordinates, Type value) {
        code.add(new VarInsnNode(ALOAD, 0));
        load(code, coordinates, 1);
        String get = owner.equals(VAR_HANDLE) ? "getVolatile" : "get";
        code.add(new MethodInsnNode(INVOKEVIRTUAL, owner, get,
            Type.getMethodDescriptor(value, coordinates), false));
        asLong(code, value);
    }

    private static void base(InsnList code, Type[] coordinates) {
        code.add(coordinates.length == 0 ? new InsnNode(ACONST_NULL) : new VarInsnNode(ALOAD, 1));
        code.add(coordinates.length == 2 ? new VarInsnNode(ILOAD, 2) : new InsnNode(ICONST_M1));
    }

    private static void asLong(InsnList code, Type value) {
        switch (value.getSort()) {
            case Type.LONG: break;
            case Type.FLOAT: convert(code, "F"); break;
            case Type.DOUBLE: convert(code, "D"); break;
            case Type.OBJECT: case Type.ARRAY: convert(code, "Ljava/lang/Object;"); break;
            default: code.add(new InsnNode(I2L));
        }
    }

    private static void convert(InsnList code, String desc) {
        code.add(new MethodInsnNode(INVOKESTATIC, HANDLES, "value", "(" + desc + ")J", false));
    }

    // Method references.

    /** Returns the reference that replaces `h`, or null if `h` stays. */
    Handle reference(Handle h, ClassHierarchy types, MethodRewriter rewriter) {
        boolean isStatic = h.getTag() == H_INVOKESTATIC;
        if (!isStatic && h.getTag() != H_INVOKEVIRTUAL && h.getTag() != H_INVOKEINTERFACE) {
            return null;
        }
        if (updater(h.getOwner())) {
            int opcode = isStatic ? INVOKESTATIC : INVOKEVIRTUAL;
            MethodInsnNode call = new MethodInsnNode(opcode, h.getOwner(), h.getName(),
                h.getDesc(), false);
            if (!handles(call)) {
                return null;
            }
            handle(call, rewriter.site());
            return new Handle(H_INVOKESTATIC, call.owner, call.name, call.desc, call.itf);
        }
        Replacements.Target target = Replacements.find(h.getOwner(), h.getName(), h.getDesc(),
            isStatic, types);
        if (target == null) {
            return null;
        }
        String receiver = isStatic ? "" : "L" + h.getOwner() + ";";
        MethodNode m = add("(" + receiver + h.getDesc().substring(1));
        int site = rewriter.site();
        HiddenCalls.replaced(site, h.getOwner(), h.getName(), h.getDesc());
        AccessModes.add(site, h.getOwner(), h.getName());
        InsnList code = m.instructions;
        code.add(MethodRewriter.number(site));
        code.add(new FieldInsnNode(PUTSTATIC, MethodRewriter.HOOKS, "callSite", "I"));
        load(code, Type.getArgumentTypes(m.desc), 0);
        code.add(MethodRewriter.number(site));
        String desc = target.descriptor(h.getDesc(), isStatic);
        code.add(new MethodInsnNode(INVOKESTATIC, target.helper, target.name(h.getName(), false),
            desc, false));
        code.add(new InsnNode(Type.getReturnType(m.desc).getOpcode(IRETURN)));
        return new Handle(H_INVOKESTATIC, owner.name, m.name, m.desc, isInterface());
    }

    // Strings made from objects.

    /** Returns the call that replaces a concatenation of strings. */
    MethodInsnNode concatenation(InvokeDynamicInsnNode insn, int site) {
        MethodNode m = add(insn.desc);
        Type[] types = Type.getArgumentTypes(insn.desc);
        HiddenCalls.describe(m.instructions, types, site);
        load(m.instructions, types, 0);
        m.instructions.add(new InvokeDynamicInsnNode(insn.name, insn.desc, insn.bsm,
            insn.bsmArgs));
        m.instructions.add(new InsnNode(ARETURN));
        return new MethodInsnNode(INVOKESTATIC, owner.name, m.name, m.desc, isInterface());
    }

    // Calls that the class of the receiver decides.

    /**
     * Replaces a call by one of a method that makes the runtime's call if the receiver is of a
     * class that the runtime models, and otherwise the real one.
     */
    void dispatch(MethodInsnNode call, int site, List<Replacements.Target> targets,
                  boolean isResultDropped, boolean hidden) {
        MethodNode m = dispatcher(call, site, targets, isResultDropped, hidden);
        call.setOpcode(INVOKESTATIC);
        call.owner = owner.name;
        call.name = m.name;
        call.desc = m.desc;
        call.itf = isInterface();
    }

    private MethodNode dispatcher(MethodInsnNode call, int site,
                                  List<Replacements.Target> targets, boolean isResultDropped,
                                  boolean hidden) {
        MethodNode m = add("(L" + call.owner + ";" + call.desc.substring(1));
        InsnList code = m.instructions;
        LabelNode start = new LabelNode();
        LabelNode end = new LabelNode();
        code.add(start);
        for (Replacements.Target target : targets) {
            LabelNode other = new LabelNode();
            String type = target.type.getName().replace('.', '/');
            code.add(new VarInsnNode(ALOAD, 0));
            code.add(new TypeInsnNode(INSTANCEOF, type));
            code.add(new JumpInsnNode(IFEQ, other));
            code.add(new VarInsnNode(ALOAD, 0));
            code.add(new TypeInsnNode(CHECKCAST, type));
            load(code, Type.getArgumentTypes(call.desc), 1);
            code.add(MethodRewriter.number(site));
            code.add(new MethodInsnNode(INVOKESTATIC, target.helper,
                target.name(call.name, isResultDropped), target.descriptor(call.desc, false),
                false));
            code.add(new InsnNode(Type.getReturnType(call.desc).getOpcode(IRETURN)));
            code.add(other);
            if ((owner.version & 0xffff) >= V1_6) {
                code.add(new FrameNode(F_SAME, 0, null, 0, null));
            }
        }
        realCall(code, new MethodInsnNode(call.getOpcode(), call.owner, call.name, call.desc,
            call.itf), site, hidden);
        code.add(end);
        LabelNode handler = new LabelNode();
        code.add(handler);
        if ((owner.version & 0xffff) >= V1_6) {
            code.add(new FrameNode(F_FULL, 0, new Object[0], 1,
                new Object[] {"java/lang/Throwable"}));
        }
        code.add(new MethodInsnNode(INVOKESTATIC, MethodRewriter.HOOKS, "passed",
            "(Ljava/lang/Throwable;)Ljava/lang/Throwable;", false));
        code.add(new InsnNode(ATHROW));
        m.tryCatchBlocks.add(new TryCatchBlockNode(start, end, handler, null));
        return m;
    }

    /** Makes a call whose receiver and arguments are the variables of the method, and returns. */
    private static void realCall(InsnList code, MethodInsnNode call, int site, boolean hidden) {
        HiddenCalls hooks = new HiddenCalls(call, site, 0);
        boolean constructs = call.name.equals("<init>");
        if (hidden) {
            code.add(hooks.before());
        }
        if (constructs) {
            code.add(new TypeInsnNode(NEW, call.owner));
            code.add(new InsnNode(DUP));
        }
        code.add(hooks.load());
        code.add(call);
        if (hidden) {
            code.add(hooks.after(constructs ? new InsnNode(DUP) : null));
        }
        code.add(new MethodInsnNode(INVOKESTATIC, MethodRewriter.HOOKS, "afterCall", "()V",
            false));
        code.add(new InsnNode(constructs ? ARETURN
            : Type.getReturnType(call.desc).getOpcode(IRETURN)));
    }

    /** Returns the reference that replaces one to a method whose code may not be recorded. */
    Handle hiddenReference(Handle h, ClassHierarchy types, Options options,
                           MethodRewriter rewriter) {
        int opcode;
        switch (h.getTag()) {
            case H_INVOKEVIRTUAL: opcode = INVOKEVIRTUAL; break;
            case H_INVOKEINTERFACE: opcode = INVOKEINTERFACE; break;
            case H_INVOKESTATIC: opcode = INVOKESTATIC; break;
            case H_NEWINVOKESPECIAL: opcode = INVOKESPECIAL; break;
            default: return null;
        }
        MethodInsnNode call = new MethodInsnNode(opcode, h.getOwner(), h.getName(), h.getDesc(),
            h.isInterface());
        boolean hidden = HiddenCalls.isPossible(call, types, options);
        boolean virtual = opcode == INVOKEVIRTUAL || opcode == INVOKEINTERFACE;
        List<Replacements.Target> targets = virtual
            ? Replacements.ofSubclasses(call.owner, call.name, call.desc)
            : new ArrayList<Replacements.Target>();
        if (!hidden && targets.isEmpty() || call.owner.startsWith("[")) {
            return null;
        }
        MethodNode m;
        if (virtual) {
            m = dispatcher(call, rewriter.site(), targets, false, hidden);
        } else {
            boolean constructs = opcode == INVOKESPECIAL;
            m = add(constructs ? call.desc.substring(0, call.desc.indexOf(')') + 1) + "L"
                + call.owner + ";" : call.desc);
            realCall(m.instructions, call, rewriter.site(), hidden);
        }
        return new Handle(H_INVOKESTATIC, owner.name, m.name, m.desc, isInterface());
    }
}
