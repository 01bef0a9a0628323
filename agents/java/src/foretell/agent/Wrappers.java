package foretell.agent;

import java.util.ArrayList;
import java.util.List;
import org.objectweb.asm.Handle;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Methods added to a rewritten class: for calls of a VarHandle and calls that create one, whose
 * types only the class itself can name; for calls of field updaters, which are alike; and for
 * references to methods that the runtime replaces. They are private, static and synthetic, and have
 * no branches.
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
        String hook = values == 2 ? "exchanged" : updates ? "updated" : values == 0 ? "read"
            : "wrote";
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
        InsnList code = m.instructions;
        code.add(MethodRewriter.number(site));
        code.add(new FieldInsnNode(PUTSTATIC, MethodRewriter.HOOKS, "callSite", "I"));
        load(code, Type.getArgumentTypes(m.desc), 0);
        code.add(MethodRewriter.number(site));
        String desc = target.descriptor(h.getDesc(), isStatic);
        code.add(new MethodInsnNode(INVOKESTATIC, target.helper, h.getName(), desc, false));
        code.add(new InsnNode(Type.getReturnType(m.desc).getOpcode(IRETURN)));
        return new Handle(H_INVOKESTATIC, owner.name, m.name, m.desc, isInterface());
    }
}
