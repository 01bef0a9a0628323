package foretell.agent;

import foretell.rt.AccessModes;
import foretell.rt.ArrayMethods;
import foretell.rt.AtomicArrays;
import foretell.rt.Atomics;
import foretell.rt.BlockingDeques;
import foretell.rt.ConcurrentCollections;
import foretell.rt.Fences;
import foretell.rt.Locks;
import foretell.rt.Observations;
import foretell.rt.OwnSynchronizers;
import foretell.rt.Permits;
import foretell.rt.StampedLocks;
import foretell.rt.StampedViews;
import foretell.rt.Synchronizers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentMap;

/** Calls of java.util.concurrent that the runtime makes instead. */
final class Replacements {
    /** Class that declares a replaced method, and class of the runtime that has the replacement. */
    static final class Target {
        final Class<?> type;
        /** Type of the receiver in the replacement. */
        private final String parameter;
        final String helper;

        Target(Class<?> type, String parameter, String helper) {
            this.type = type;
            this.parameter = parameter;
            this.helper = helper;
        }

        /** Returns the name of the replacement. */
        String name(String name, boolean isResultDropped) {
            boolean blind = isResultDropped && name.equals("put")
                && ConcurrentMap.class.isAssignableFrom(type);
            return blind ? "blindPut" : AccessModes.volatileName(type, name);
        }

        /** Returns the descriptor of the replacement: the receiver first, the site last. */
        String descriptor(String desc, boolean isStatic) {
            String receiver = isStatic ? "" : "L" + parameter.replace('.', '/') + ";";
            int close = desc.indexOf(')');
            return "(" + receiver + desc.substring(1, close) + "I" + desc.substring(close);
        }
    }

    private static final Map<String, List<Target>> METHODS = new HashMap<String, List<Target>>();
    private static final Map<String, List<Target>> STATIC_METHODS = new HashMap<String, List<Target>>();

    static {
        add(METHODS, Locks.METHODS, "foretell/rt/Locks");
        add(METHODS, StampedLocks.METHODS, "foretell/rt/StampedLocks");
        add(METHODS, StampedViews.METHODS, "foretell/rt/StampedViews");
        add(METHODS, Synchronizers.METHODS, "foretell/rt/Synchronizers");
        add(METHODS, Atomics.METHODS, "foretell/rt/Atomics");
        add(METHODS, AccessModes.SCALARS, "foretell/rt/Atomics");
        add(METHODS, AtomicArrays.METHODS, "foretell/rt/AtomicArrays");
        add(METHODS, AccessModes.ARRAYS, "foretell/rt/AtomicArrays");
        add(METHODS, ConcurrentCollections.METHODS, "foretell/rt/ConcurrentCollections");
        add(METHODS, BlockingDeques.METHODS, "foretell/rt/BlockingDeques");
        add(METHODS, OwnSynchronizers.METHODS, "foretell/rt/OwnSynchronizers");
        add(METHODS, Observations.METHODS, "foretell/rt/Observations");
        add(STATIC_METHODS, Observations.STATIC_METHODS, "foretell/rt/Observations");
        add(STATIC_METHODS, Fences.STATIC_METHODS, "foretell/rt/Fences");
        add(STATIC_METHODS, ArrayMethods.STATIC_METHODS, "foretell/rt/ArrayMethods");
        add(STATIC_METHODS, Permits.STATIC_METHODS, "foretell/rt/Permits");
    }

    private Replacements() {
    }

    private static void add(Map<String, List<Target>> to, String[][] table, String helper) {
        for (String[] row : table) {
            Class<?> type;
            // The class, and the type of the receiver in the replacement if it is another one.
            String[] names = row[0].split(" ");
            try {
                type = Class.forName(names[0], false, null);
            } catch (ClassNotFoundException e) {
                // A platform without the class has no calls of it.
                continue;
            }
            for (int i = 1; i < row.length; i++) {
                List<Target> targets = to.get(row[i]);
                if (targets == null) {
                    targets = new ArrayList<Target>();
                    to.put(row[i], targets);
                }
                targets.add(new Target(type, names[names.length - 1], helper));
            }
        }
    }

    /** Returns the replacement of a call, or null. */
    static Target find(String owner, String name, String desc, boolean isStatic,
                       ClassHierarchy types) {
        List<Target> targets = (isStatic ? STATIC_METHODS : METHODS).get(name + desc);
        if (targets != null) {
            for (Target target : targets) {
                if (types.isA(owner, target.type)) {
                    return target;
                }
            }
        }
        return null;
    }

    /**
     * Returns the replacements that a call may have although its class does not tell: those of
     * subclasses.
     */
    static List<Target> ofSubclasses(String owner, String name, String desc) {
        List<Target> found = new ArrayList<Target>();
        List<Target> targets = METHODS.get(name + desc);
        if (targets == null || !ClassHierarchy.isPlatform(owner)) {
            return found;
        }
        try {
            Class<?> type = Class.forName(owner.replace('/', '.'), false, null);
            for (Target target : targets) {
                if (type.isAssignableFrom(target.type) && type != target.type) {
                    found.add(target);
                }
            }
        } catch (ClassNotFoundException e) {
            // A class of another loader of the platform, which has no such subclasses.
            return found;
        }
        return found;
    }
}
