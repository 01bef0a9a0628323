package foretell.rt;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Accesses of fields of recorded classes by `java.lang.reflect.Field`. The program makes the call
 * itself, because the platform checks the caller; the hooks around it read the field's value by a
 * copy of the Field. The log has such an access as one through a handle.
 */
final class FieldReflection {
    /** Token of a call that writes a field. */
    static final long WRITES = -2;
    /** Token of a call that has been recorded. */
    static final long RECORDED = -1;

    private static final Set<String> GET = new HashSet<String>(Arrays.asList("get", "getInt",
        "getLong", "getBoolean", "getDouble", "getFloat", "getByte", "getShort", "getChar"));

    /** A field that the runtime can read. */
    private static final class Known {
        final Field copy;
        /** Number in the log; 0: none yet. */
        int number;

        Known(Field copy) {
            this.copy = copy;
        }
    }

    /** Fields by their Field objects, which are equal for one field; null: not a recorded one. */
    private static final Map<Field, Known> KNOWN = new HashMap<Field, Known>();

    private FieldReflection() {
    }

    private static Known known(Field f) {
        if (!KNOWN.containsKey(f)) {
            KNOWN.put(f, find(f));
        }
        return KNOWN.get(f);
    }

    private static Known find(Field f) {
        if (!HiddenUse.isRecorded(f.getDeclaringClass()) || Modifier.isFinal(f.getModifiers())) {
            return null;
        }
        try {
            Field copy = f.getDeclaringClass().getDeclaredField(f.getName());
            copy.setAccessible(true);
            return new Known(copy);
        } catch (Exception e) {
            // A field that only the program can read may be any.
            return null;
        }
    }

    /** Whether a call reads or writes a field whose accesses are recorded. */
    static boolean isKnown(Object receiver, Object target, String method) {
        if (!(receiver instanceof Field)
            || !GET.contains(method) && !GET.contains(method.replaceFirst("^set", "get"))) {
            return false;
        }
        Known known = known((Field) receiver);
        return known != null && (Modifier.isStatic(known.copy.getModifiers())
            || target != null && known.copy.getDeclaringClass().isInstance(target));
    }

    /** Hook before a call of such a method. Returns the token of the hook after it. */
    static long before(ThreadState t, Field f, Object target, String method, int site) {
        if (!GET.contains(method)) {
            return WRITES;
        }
        record(t, f, target, Effect.READ, site);
        Hooks.stepLater(t, isVolatile(f) ? Kind.ATOMIC : Kind.READ, site);
        return RECORDED;
    }

    /** Hook after a call that writes a field. */
    static void wrote(ThreadState t, Field f, Object target, int site) {
        record(t, f, target, Effect.WRITE, site);
        Hooks.step(t, isVolatile(f) ? Kind.ATOMIC : Kind.WRITE, site);
    }

    private static boolean isVolatile(Field f) {
        return Modifier.isVolatile(f.getModifiers());
    }

    private static void record(ThreadState t, Field f, Object target, int effect, int site) {
        Known known = known(f);
        if (!Log.on || known == null) {
            return;
        }
        if (known.number == 0) {
            known.number = Handles.number(f.getDeclaringClass(), f.getName());
        }
        boolean isStatic = Modifier.isStatic(f.getModifiers());
        int id = isStatic ? 0 : ObjectIds.of(target);
        long value;
        try {
            Object read = known.copy.get(isStatic ? null : target);
            value = f.getType().isPrimitive() ? value(read) : ObjectIds.of(read);
        } catch (IllegalAccessException e) {
            return;
        }
        if (id < 0) {
            return;
        }
        if (isVolatile(f)) {
            Log.atomic(t, Log.HANDLED, effect, AccessModes.VOLATILE, site, id, known.number,
                value, value);
        } else {
            int tag = effect == Effect.READ ? Log.HANDLED_READ : Log.HANDLED_WRITE;
            Log.element(t, tag, site, id, known.number, value);
        }
    }

    /** Returns a primitive value as the log has it. */
    private static long value(Object o) {
        if (o instanceof Boolean) {
            return (Boolean) o ? 1 : 0;
        }
        if (o instanceof Character) {
            return (Character) o;
        }
        if (o instanceof Double) {
            return Double.doubleToRawLongBits((Double) o);
        }
        if (o instanceof Float) {
            return Float.floatToRawIntBits((Float) o);
        }
        return ((Number) o).longValue();
    }
}
