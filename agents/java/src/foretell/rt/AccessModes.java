package foretell.rt;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;

/**
 * Modes of atomic accesses, by the site of the call: those of a VarHandle, and the methods of
 * java.util.concurrent.atomic that are named after them. A site without an entry is volatile.
 *
 * An object with final fields is published safely in any mode, with all that it leads to. The
 * opaque mode acquires and releases where it reads or writes a reference to such an object, or to
 * one of a class that is not recorded.
 */
public final class AccessModes {
    /** Memory orders of the trace, and the plain mode. */
    static final int VOLATILE = 0;
    static final int OPAQUE = 1;
    static final int ACQUIRE = 2;
    static final int RELEASE = 3;
    static final int ACQUIRE_RELEASE = 4;
    static final int PLAIN = 5;

    private static final String PACKAGE = "java.util.concurrent.atomic.";
    private static final String VAR_HANDLE = "java.lang.invoke.VarHandle";

    /** Methods whose replacements are those of {@link #volatileName}. */
    public static final String[][] SCALARS = {
        methods("AtomicInteger", "", "I"), methods("AtomicLong", "", "J"),
        methods("AtomicBoolean", "", "Z"),
        methods("AtomicReference", "", "Ljava/lang/Object;"),
    };
    public static final String[][] ARRAYS = {
        methods("AtomicIntegerArray", "I", "I"), methods("AtomicLongArray", "I", "J"),
        methods("AtomicReferenceArray", "I", "Ljava/lang/Object;"),
    };

    /** Modes of the sites that have one. */
    private static byte[] modes = new byte[1024];

    private static final ClassValue<Boolean> HAS_FINALS = new ClassValue<Boolean>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            try {
                return hasFinals(type);
            } catch (Throwable e) {
                // A type of a field that cannot be loaded.
                return true;
            }
        }
    };

    private AccessModes() {
    }

    private static String[] methods(String type, String index, String value) {
        String get = "(" + index + ")" + value;
        String set = "(" + index + value + ")V";
        String compare = "(" + index + value + value + ")";
        return new String[] {PACKAGE + type, "getPlain" + get, "getOpaque" + get,
            "getAcquire" + get, "setPlain" + set, "setOpaque" + set, "setRelease" + set,
            "compareAndExchange" + compare + value, "compareAndExchangeAcquire" + compare + value,
            "compareAndExchangeRelease" + compare + value, "weakCompareAndSetPlain" + compare + "Z",
            "weakCompareAndSetVolatile" + compare + "Z", "weakCompareAndSetAcquire" + compare + "Z",
            "weakCompareAndSetRelease" + compare + "Z"};
    }

    /**
     * Returns the name of the method that does the same in volatile mode. A weak compare-and-set
     * may fail spuriously, which a replay cannot repeat.
     */
    public static String volatileName(Class<?> type, String name) {
        if (!type.getName().startsWith(PACKAGE)) {
            return name;
        }
        return name.startsWith("weakCompareAndSet") ? "compareAndSet"
            : name.startsWith("compareAndExchange") ? "compareAndExchange"
            : modeOf(type.getName(), name) == VOLATILE || name.equals("lazySet") ? name
            : name.substring(0, 3);
    }

    /** Returns the mode of a method of a class, its name with dots. */
    private static int modeOf(String type, String name) {
        if (name.endsWith("Acquire")) {
            return ACQUIRE;
        }
        if (name.endsWith("Release") || name.equals("lazySet")) {
            return RELEASE;
        }
        if (name.equals("getPlain") || name.equals("setPlain")) {
            return PLAIN;
        }
        boolean weak = name.equals("weakCompareAndSet") && !type.equals(VAR_HANDLE);
        return weak || name.endsWith("Opaque") || name.endsWith("Plain") ? OPAQUE : VOLATILE;
    }

    /** Adds the site of a call. */
    public static synchronized void add(int site, String owner, String name) {
        String type = owner.replace('/', '.');
        int mode = type.startsWith(PACKAGE) || type.equals(VAR_HANDLE) ? modeOf(type, name)
            : VOLATILE;
        if (mode == VOLATILE) {
            return;
        }
        if (site >= modes.length) {
            modes = Arrays.copyOf(modes, Math.max(site + 1, modes.length * 2));
        }
        modes[site] = (byte) mode;
    }

    /** Returns the mode of the access at a site. */
    static int at(int site) {
        byte[] known = modes;
        return site < known.length ? known[site] : VOLATILE;
    }

    /** Returns the mode of an access at a site that reads or writes this reference. */
    static int at(int site, int effect, Object value) {
        int mode = at(site);
        if (mode == VOLATILE || mode == PLAIN) {
            return mode;
        }
        if (effect == Effect.UPDATE || effect == Effect.FAILED_UPDATE) {
            // The other value that it reads or writes is not known here.
            return ACQUIRE_RELEASE;
        }
        return value == null || !HAS_FINALS.get(value.getClass()) ? mode
            : effect == Effect.READ ? ACQUIRE : RELEASE;
    }

    /** Whether objects of a class may have final fields. */
    private static boolean hasFinals(Class<?> type) {
        if (type.isArray()) {
            return false;
        }
        ClassLoader platform = ClassLoader.getSystemClassLoader().getParent();
        for (Class<?> c = type; c != Object.class && c != RecordedObject.class;
             c = c.getSuperclass()) {
            if (c.getClassLoader() == null || c.getClassLoader() == platform) {
                return true;
            }
            for (Field f : c.getDeclaredFields()) {
                if (Modifier.isFinal(f.getModifiers()) && !Modifier.isStatic(f.getModifiers())) {
                    return true;
                }
            }
        }
        return false;
    }
}
