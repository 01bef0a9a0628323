package foretell.rt;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Hidden state that a method uses when its receiver, or the class of the call, is of one class. */
final class HiddenUse {
    /** Recorded classes, by name. */
    private static final Map<String, Boolean> RECORDED = new ConcurrentHashMap<String, Boolean>();
    private static final Map<String, HiddenUse> KNOWN = new ConcurrentHashMap<String, HiddenUse>();

    /** Methods that compare or describe elements. */
    private static final Set<String> LOOKS_INSIDE = new HashSet<String>(Arrays.asList("toString",
        "equals", "hashCode", "hash", "deepToString", "deepEquals", "deepHashCode", "valueOf",
        "format", "formatted", "append", "join", "contains", "containsAll", "containsValue",
        "indexOf", "lastIndexOf", "removeAll", "retainAll", "frequency", "disjoint"));

    /** Whether objects of a class have hidden state. */
    private static final ClassValue<Integer> STATE = new ClassValue<Integer>() {
        @Override
        protected Integer computeValue(Class<?> type) {
            return stateOf(type);
        }
    };
    static final int NO_STATE = 0;
    /** A class whose methods the runtime replaces. */
    static final int MODELLED_STATE = 1;
    static final int HAS_STATE = 2;

    final Class<?> type;
    /** Whether the call needs no record. */
    final boolean none;
    final boolean receiver;
    /** State besides that of objects: bits of the log. */
    final int state;
    /** Whether the method may read and write whatever the program has. */
    final boolean anything;
    final boolean fresh;
    /** Whether a wait in the method ends by another use of the receiver. */
    final boolean explainsWaits;
    /** Whether the method reads the elements of collections, and theirs. */
    final boolean looksInside;
    /** Uses of objects with plain accesses: see {@link Plain}. */
    final int plainReceiver;
    final int plainArgument;
    final int plainElements;
    /** Whether the method locks a monitor. */
    final boolean locks;
    /** Whether the presence of a key, or of any element, decides what the method does. */
    final boolean keyed;
    final boolean polls;
    /** Whether the method uses one element of a list, if the receiver is one. */
    final boolean indexed;
    /** Whether arguments that are declared as Object are only stored and compared. */
    final boolean stores;
    /** Whether the method uses, or closes, a resource. */
    final boolean usesResource;
    final boolean closesResource;
    /** Name of the class in the log. */
    final String className;
    final String method;
    /** Number in the log; 0: not written yet. */
    int number;

    private HiddenUse(Class<?> type, HiddenTable.Use use, boolean receiver, int state,
                      boolean fresh, String className, HiddenSites.Call call) {
        this.type = type;
        this.receiver = receiver;
        this.state = state;
        anything = use == HiddenTable.Use.ANYTHING;
        this.fresh = fresh;
        explainsWaits = receiver && HiddenTable.explainsWaits(type);
        this.className = className;
        method = call == null ? "" : call.name;
        looksInside = LOOKS_INSIDE.contains(method);
        boolean plain = receiver && Plain.is(type);
        String desc = call == null ? "" : call.desc;
        plainReceiver = plain ? Plain.ofReceiver(type, method, desc) : Plain.OPAQUE;
        plainArgument = Plain.ofArgument(className, method);
        plainElements = Plain.ofElements(method);
        locks = plain && plainReceiver != Plain.OPAQUE && plainReceiver != Plain.NONE
            && Plain.isSynchronized(type);
        boolean atomic = plainReceiver == Plain.ATOMIC_READ || plainReceiver == Plain.ATOMIC_UPDATE;
        keyed = plain && !atomic && Plain.isKeyed(method);
        indexed = plain && desc.startsWith("(I")
            && (method.equals("get") || method.equals("set"));
        polls = plain && !atomic && Plain.isPoll(method, desc);
        stores = className.startsWith("java.util.");
        boolean resource = receiver && HiddenTable.isResource(type);
        closesResource = resource && Resources.isClose(method, desc);
        usesResource = resource && !closesResource && Resources.isUse(method);
        none = use == HiddenTable.Use.PURE || use == HiddenTable.Use.MODELLED;
    }

    /** Adds a class that has been rewritten. */
    static void recorded(String name) {
        RECORDED.put(name, Boolean.TRUE);
    }

    static boolean isRecorded(Class<?> type) {
        String name = type.getName();
        int lambda = name.indexOf("$$Lambda");
        return isRecorded(lambda < 0 ? name : name.substring(0, lambda));
    }

    /** Whether a class has been rewritten, by its name with dots. */
    static boolean isRecorded(String name) {
        return RECORDED.containsKey(name);
    }

    private static HiddenUse nothing(Class<?> type) {
        return new HiddenUse(type, HiddenTable.Use.PURE, false, 0, false, "", null);
    }

    static HiddenUse of(Class<?> type, HiddenSites.Call call) {
        // Uses of one method are one object, which has the method's number.
        String key = type.getName() + "@" + System.identityHashCode(type) + " " + call.owner + "."
            + call.name + call.desc + call.special;
        HiddenUse use = KNOWN.get(key);
        if (use == null || use.type != type) {
            use = compute(type, call);
            KNOWN.put(key, use);
        }
        return use;
    }

    private static HiddenUse compute(Class<?> type, HiddenSites.Call call) {
        Class<?> from = type;
        while (call.special && from != null && !from.getName().equals(call.owner)) {
            from = from.getSuperclass();
        }
        from = from == null ? type : from;
        Class<?> declaring = call.name.equals("<init>") ? from : declaring(from, call);
        if (isRecorded(declaring)) {
            return nothing(type);
        }
        boolean inherited = isRecorded(type) || call.special;
        HiddenTable.Use use = HiddenTable.of(inherited ? declaring : type, declaring, call.name);
        if (OwnSynchronizers.isModelled(declaring, call.name)) {
            use = HiddenTable.Use.MODELLED;
        }
        boolean receiver = !call.isStatic && use != HiddenTable.Use.VALUES
            && !(inherited && declaring.isInterface());
        return new HiddenUse(type, use, receiver, state(declaring, use, call),
            HiddenTable.isFresh(declaring, call.name),
            declaring.getName(), call);
    }

    private static int state(Class<?> declaring, HiddenTable.Use use, HiddenSites.Call call) {
        if (!isPlatform(declaring)) {
            // Excluded classes may share static state with each other.
            return Log.EXCLUDED_STATE;
        }
        if (use == HiddenTable.Use.KERNEL) {
            return Log.KERNEL_STATE;
        }
        boolean ofClass = call.isStatic && use != HiddenTable.Use.STATELESS
            && use != HiddenTable.Use.VALUES;
        return ofClass || use == HiddenTable.Use.ANYTHING ? Log.CLASS_STATE : 0;
    }

    private static boolean isPlatform(Class<?> type) {
        String name = type.getName();
        return type.isArray() || name.startsWith("java.") || name.startsWith("javax.")
            || name.startsWith("jdk.") || name.startsWith("sun.") || name.startsWith("com.sun.");
    }

    /** Returns the class whose code runs. */
    private static Class<?> declaring(Class<?> type, HiddenSites.Call call) {
        try {
            for (Class<?> c = type; c != null; c = c.getSuperclass()) {
                if (declares(c, call)) {
                    return c;
                }
            }
            for (Class<?> c = type; c != null; c = c.getSuperclass()) {
                Class<?> found = inInterfaces(c, call);
                if (found != null) {
                    return found;
                }
            }
        } catch (LinkageError e) {
            // A type in the signature of a method is missing: the class itself decides.
            return type;
        }
        return type;
    }

    private static Class<?> inInterfaces(Class<?> type, HiddenSites.Call call) {
        for (Class<?> i : type.getInterfaces()) {
            Class<?> found = declares(i, call) ? i : inInterfaces(i, call);
            if (found != null) {
                return found;
            }
        }
        return null;
    }

    private static boolean declares(Class<?> type, HiddenSites.Call call) {
        for (Method m : type.getDeclaredMethods()) {
            if (m.getName().equals(call.name)
                && !Modifier.isAbstract(m.getModifiers())
                && call.desc.startsWith(parameters(m))) {
                return true;
            }
        }
        return false;
    }

    private static String parameters(Method m) {
        StringBuilder text = new StringBuilder("(");
        for (Class<?> p : m.getParameterTypes()) {
            String array = java.lang.reflect.Array.newInstance(p, 0).getClass().getName();
            text.append(array.substring(1).replace('.', '/'));
        }
        return text.append(')').toString();
    }

    private static int stateOf(Class<?> type) {
        if (type.isArray()) {
            return HAS_STATE;
        }
        Class<?> c = type;
        while (c != null && isRecorded(c)) {
            c = c.getSuperclass();
        }
        if (c == null || c == Object.class || c == RecordedObject.class) {
            return NO_STATE;
        }
        switch (HiddenTable.of(c, c, null)) {
            case PURE: case MODELLED: case VALUES: return NO_STATE;
            default: break;
        }
        String name = c.getName();
        boolean concurrent = name.startsWith("java.util.concurrent.");
        return concurrent ? MODELLED_STATE : HAS_STATE;
    }

    /** Whether a call by reflection, of a method of `target`, runs recorded code and no other. */
    static boolean callsRecorded(Object receiver, Object target) {
        if (receiver instanceof Constructor) {
            return isRecorded(((Constructor<?>) receiver).getDeclaringClass());
        }
        if (!(receiver instanceof Method)) {
            return false;
        }
        Method m = (Method) receiver;
        if (!isRecorded(m.getDeclaringClass()) || Modifier.isNative(m.getModifiers())) {
            return false;
        }
        if (Modifier.isStatic(m.getModifiers())) {
            return true;
        }
        // A class between the two may override the method.
        Class<?> c = target == null ? null : target.getClass();
        while (c != null && isRecorded(c)) {
            c = c.getSuperclass();
        }
        return c == RecordedObject.class || c == Object.class;
    }

    /** Whether an object is a collection of the platform that takes no lock. */
    static boolean isPlainCollection(Object o) {
        if (!(o instanceof java.util.Collection || o instanceof Map)) {
            return false;
        }
        String name = o.getClass().getName();
        return name.startsWith("java.util.") && !name.startsWith("java.util.concurrent.")
            && !name.startsWith("java.util.Collections$Synchronized")
            && !(o instanceof java.util.Vector || o instanceof java.util.Dictionary);
    }

    /** Whether an argument has hidden state. `element`: the method's parameter is an Object. */
    static boolean counts(Object o, boolean element) {
        if (o == null || o instanceof RecordedObject) {
            return false;
        }
        int state = STATE.get(o.getClass());
        return state == HAS_STATE || state == MODELLED_STATE && !element;
    }
}
