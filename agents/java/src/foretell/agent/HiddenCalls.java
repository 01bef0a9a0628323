package foretell.agent;

import foretell.rt.HiddenSites;
import foretell.rt.HiddenTable;
import foretell.rt.Options;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Hooks around one call that may run code which is not recorded. Receiver and arguments are stored
 * in variables that the method does not use, so that the hooks after the call have them too, and
 * cleared then. The code has no branches: stack maps of the method stay valid.
 */
final class HiddenCalls implements Opcodes {
    private static final String HIDDEN = "foretell/rt/Hidden";
    private static final String OBJ = "Ljava/lang/Object;";
    private static final int MOST_SINGLE = 3;
    /** Methods of Object that a program's class has or inherits. */
    private static final Set<String> OBJECT = new HashSet<String>(Arrays.asList(
        "getClass()Ljava/lang/Class;", "hashCode()I", "equals(Ljava/lang/Object;)Z",
        "toString()Ljava/lang/String;", "finalize()V", "notify()V", "notifyAll()V", "wait()V",
        "wait(J)V", "wait(JI)V"));
    /** Immutable classes, which never count as arguments. */
    private static final Set<String> IMMUTABLE = new HashSet<String>(Arrays.asList(
        "java/lang/String", "java/lang/Integer", "java/lang/Long", "java/lang/Boolean",
        "java/lang/Character", "java/lang/Byte", "java/lang/Short", "java/lang/Float",
        "java/lang/Double", "java/lang/Class", "java/util/concurrent/TimeUnit",
        "java/util/Locale", "java/nio/charset/Charset"));

    private final MethodInsnNode call;
    private final Type[] arguments;
    private final boolean isConstructor;
    private final boolean isStatic;
    private final int site;
    /** First variable: the receiver, or the first argument. */
    private final int base;
    private final int token;
    /** Variables of the arguments that may have state. */
    private final List<Integer> references = new ArrayList<Integer>();

    HiddenCalls(MethodInsnNode call, int site, int base) {
        this.call = call;
        this.site = site;
        this.base = base;
        arguments = Type.getArgumentTypes(call.desc);
        isConstructor = call.name.equals("<init>");
        isStatic = call.getOpcode() == INVOKESTATIC;
        int at = hasReceiver() ? base + 1 : base;
        List<Boolean> elements = new ArrayList<Boolean>();
        for (Type t : arguments) {
            if (mayHaveState(t)) {
                references.add(at);
                elements.add(t.getDescriptor().equals(OBJ));
            }
            at += t.getSize();
        }
        token = at;
        boolean[] element = new boolean[elements.size()];
        for (int i = 0; i < element.length; i++) {
            element[i] = elements.get(i);
        }
        boolean special = call.getOpcode() == INVOKESPECIAL && !isConstructor;
        HiddenSites.add(site, call.owner.replace('/', '.'), call.name, call.desc, !hasReceiver(),
            special, element, references.size() > MOST_SINGLE);
    }

    /** Whether an instruction makes a string from objects that may have state. */
    static boolean describes(InvokeDynamicInsnNode insn) {
        if (!insn.bsm.getOwner().equals("java/lang/invoke/StringConcatFactory")) {
            return false;
        }
        for (Type t : Type.getArgumentTypes(insn.desc)) {
            if (mayHaveState(t)) {
                return true;
            }
        }
        return false;
    }

    /** Adds hooks before a description of variables with these types. */
    static void describe(InsnList code, Type[] types, int site) {
        HiddenSites.add(site, "java.lang.Object", "toString", "()Ljava/lang/String;", false, false,
            new boolean[0], false);
        int at = 0;
        for (Type t : types) {
            if (mayHaveState(t)) {
                code.add(new VarInsnNode(ALOAD, at));
                code.add(MethodRewriter.number(site));
                code.add(new MethodInsnNode(INVOKESTATIC, HIDDEN, "described", "(" + OBJ + "I)V",
                    false));
            }
            at += t.getSize();
        }
    }

    /** Adds the site of a call that the runtime makes, which may use hidden state after all. */
    static void replaced(int site, String owner, String name, String desc) {
        HiddenSites.add(site, owner.replace('/', '.'), name, desc, false, false, new boolean[3],
            false);
    }

    private boolean hasReceiver() {
        return !isStatic && !isConstructor;
    }

    private static boolean mayHaveState(Type t) {
        return t.getSort() == Type.ARRAY
            || t.getSort() == Type.OBJECT && !IMMUTABLE.contains(t.getInternalName());
    }

    /** Whether a method may use one element of a list. */
    private static boolean isIndexed(String name) {
        return name.equals("get") || name.equals("set");
    }

    /** Whether a call may run code that is not recorded and has, or gets, hidden state. */
    static boolean isPossible(MethodInsnNode call, ClassHierarchy types, Options options) {
        boolean isConstructor = call.name.equals("<init>");
        if (call.owner.startsWith("foretell/")) {
            return false;
        }
        String declaring = call.owner;
        if (!ClassHierarchy.isPlatform(call.owner) && !call.owner.startsWith("[")) {
            declaring = types.declaring(call.owner, call.name + call.desc);
            if (declaring == null) {
                return true;
            }
            if (!ClassHierarchy.isPlatform(declaring)) {
                return !ClassRewriter.isRecorded(declaring, options)
                    || options.selectsClasses() && call.getOpcode() != INVOKESPECIAL
                        && !types.isFixed(declaring, call.name + call.desc);
            }
            if (declaring.equals("java/lang/Object")) {
                // A method of an interface, or one that only the running class tells.
                return !isConstructor && !OBJECT.contains(call.name + call.desc);
            }
        }
        return !isExempt(call, declaring.replace('/', '.'));
    }

    private static boolean isExempt(MethodInsnNode call, String type) {
        if (HiddenTable.isExemptWithSubclasses(type, call.name)) {
            return true;
        }
        boolean certain = call.getOpcode() == INVOKESTATIC || call.getOpcode() == INVOKESPECIAL
            || isFinal(type);
        if (!certain) {
            return false;
        }
        boolean noState = true;
        for (Type t : Type.getArgumentTypes(call.desc)) {
            noState &= !mayHaveState(t);
        }
        switch (HiddenTable.ofName(type, call.name)) {
            case PURE: case MODELLED: return true;
            case VALUES: return noState;
            case STATELESS: return noState && call.getOpcode() == INVOKESTATIC;
            default: return noState && call.name.equals("<init>")
                && HiddenTable.ofName(type, call.name) == HiddenTable.Use.ALL;
        }
    }

    private static boolean isFinal(String type) {
        if (type.startsWith("[")) {
            return false;
        }
        try {
            return Modifier.isFinal(Class.forName(type, false, null).getModifiers());
        } catch (ClassNotFoundException e) {
            return false;
        } catch (LinkageError e) {
            return false;
        }
    }

    /** Stores receiver and arguments, which are on the stack. */
    InsnList store() {
        InsnList code = new InsnList();
        int at = token;
        for (int i = arguments.length - 1; i >= 0; i--) {
            at -= arguments[i].getSize();
            code.add(new VarInsnNode(arguments[i].getOpcode(ISTORE), at));
        }
        if (hasReceiver()) {
            code.add(new VarInsnNode(ASTORE, base));
        }
        return code;
    }

    InsnList load() {
        InsnList code = new InsnList();
        if (hasReceiver()) {
            code.add(new VarInsnNode(ALOAD, base));
        }
        int at = hasReceiver() ? base + 1 : base;
        for (Type t : arguments) {
            code.add(new VarInsnNode(t.getOpcode(ILOAD), at));
            at += t.getSize();
        }
        return code;
    }

    /** Loads receiver or class, and the arguments that may have state. */
    private void loadObjects(InsnList code) {
        if (hasReceiver()) {
            code.add(new VarInsnNode(ALOAD, base));
        } else {
            code.add(new LdcInsnNode(Type.getObjectType(call.owner)));
        }
        if (references.size() > MOST_SINGLE) {
            code.add(MethodRewriter.number(references.size()));
            code.add(new TypeInsnNode(ANEWARRAY, "java/lang/Object"));
            for (int i = 0; i < references.size(); i++) {
                code.add(new InsnNode(DUP));
                code.add(MethodRewriter.number(i));
                code.add(new VarInsnNode(ALOAD, references.get(i)));
                code.add(new InsnNode(AASTORE));
            }
            code.add(new InsnNode(ACONST_NULL));
            code.add(new InsnNode(ACONST_NULL));
            return;
        }
        for (int i = 0; i < MOST_SINGLE; i++) {
            code.add(i < references.size() ? new VarInsnNode(ALOAD, references.get(i))
                : new InsnNode(ACONST_NULL));
        }
    }

    private String first() {
        return hasReceiver() ? OBJ : "Ljava/lang/Class;";
    }

    InsnList before() {
        InsnList code = new InsnList();
        if (hasReceiver() && call.desc.startsWith("(I") && isIndexed(call.name)) {
            code.add(new VarInsnNode(ILOAD, base + 1));
            code.add(new FieldInsnNode(PUTSTATIC, HIDDEN, "index", "I"));
        }
        loadObjects(code);
        code.add(MethodRewriter.number(site));
        code.add(new MethodInsnNode(INVOKESTATIC, HIDDEN, hasReceiver() ? "call" : "callOf",
            "(" + first() + OBJ + OBJ + OBJ + "I)J", false));
        code.add(new VarInsnNode(LSTORE, token));
        return code;
    }

    /**
     * Returns the hook after the call. `constructed`: the instruction that loads the new object, or
     * null.
     */
    InsnList after(org.objectweb.asm.tree.AbstractInsnNode constructed) {
        InsnList code = new InsnList();
        int sort = Type.getReturnType(call.desc).getSort();
        boolean reference = sort == Type.OBJECT || sort == Type.ARRAY;
        if (isConstructor) {
            code.add(constructed == null ? new InsnNode(ACONST_NULL) : constructed);
        } else {
            code.add(new InsnNode(reference ? DUP : ACONST_NULL));
        }
        loadObjects(code);
        code.add(new VarInsnNode(LLOAD, token));
        code.add(MethodRewriter.number(site));
        code.add(new MethodInsnNode(INVOKESTATIC, HIDDEN,
            hasReceiver() ? "returned" : "returnedOf",
            "(" + OBJ + first() + OBJ + OBJ + OBJ + "JI)V", false));
        code.add(forget(base, token));
        return code;
    }

    /** Returns the number of variables that the hooks use. */
    int variables() {
        return token + 2 - base;
    }

    /** Clears variables, so that they keep no object alive. */
    static InsnList forget(int from, int to) {
        InsnList code = new InsnList();
        for (int i = from; i < to; i++) {
            code.add(new InsnNode(ACONST_NULL));
            code.add(new VarInsnNode(ASTORE, i));
        }
        return code;
    }
}
