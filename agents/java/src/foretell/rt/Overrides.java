package foretell.rt;

import java.lang.reflect.Method;
import java.util.HashSet;
import java.util.Set;

/**
 * Methods of modelled platform classes that recorded subclasses override. A call of such a method
 * runs recorded code, which calls the method of the platform in turn: that call is the one to
 * record.
 */
final class Overrides {
    private static final ClassValue<Set<String>> OF = new ClassValue<Set<String>>() {
        @Override
        protected Set<String> computeValue(Class<?> type) {
            Set<String> found = new HashSet<String>();
            for (Class<?> c = type; c != null && c.getClassLoader() != null; c = c.getSuperclass()) {
                if (Sites.isRewritten(c.getName())) {
                    add(c, found);
                }
            }
            return found;
        }
    };

    private Overrides() {
    }

    private static void add(Class<?> c, Set<String> to) {
        try {
            for (Method m : c.getDeclaredMethods()) {
                to.add(m.getName() + "/" + m.getParameterTypes().length);
            }
        } catch (LinkageError e) {
            // A method names a class that is not there; the methods of this class are not known.
        }
    }

    /** Whether a recorded class overrides a method, given as name and number of parameters. */
    static boolean has(Object o, String method) {
        Class<?> type = o.getClass();
        return type.getClassLoader() != null && OF.get(type).contains(method);
    }
}
