package foretell.rt;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/** Numbers of the keys of a map, from 1: each key is a variable of the trace. */
final class MapKeys {
    /** Keys of a map beyond this number share the variable of the whole map. */
    private static final int MAX_KEYS = 1 << 16;

    /** Key that only the identity of the object distinguishes; it does not keep the object. */
    private static final class Identity {
        private final int id;

        Identity(int id) {
            this.id = id;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Identity && ((Identity) other).id == id;
        }

        @Override
        public int hashCode() {
            return id;
        }
    }

    private static final ClassValue<Boolean> BY_IDENTITY = new ClassValue<Boolean>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            try {
                return type.getMethod("equals", Object.class).getDeclaringClass() == Object.class
                    && type.getMethod("hashCode").getDeclaringClass() == Object.class;
            } catch (NoSuchMethodException impossible) {
                return false;
            } catch (LinkageError e) {
                return false;
            }
        }
    };

    private MapKeys() {
    }

    /** Returns the number of a key; 0 if it has none. */
    static int of(ThreadState t, Object map, Object key) {
        if (key == null || !Log.on || map instanceof ConcurrentSkipListMap
            && !isNatural(((ConcurrentSkipListMap<?, ?>) map).comparator(), key)) {
            return 0;
        }
        Monitor m = ObjectIds.monitor(map);
        if (m.keys == null) {
            m.keys = new HashMap<Object, Integer>();
        }
        // The key's own methods have run already, as part of the map's operation.
        t.unrecordedDepth++;
        try {
            return number(m.keys, key, ObjectIds.of(map));
        } catch (RuntimeException e) {
            return 0;
        } finally {
            t.unrecordedDepth--;
        }
    }

    private static int number(Map<Object, Integer> keys, Object key, int map) {
        Object known = BY_IDENTITY.get(key.getClass()) ? new Identity(ObjectIds.of(key)) : key;
        Integer number = keys.get(known);
        if (number != null) {
            return number;
        }
        if (keys.size() == MAX_KEYS) {
            return 0;
        }
        keys.put(known, keys.size() + 1);
        if (known instanceof String || known instanceof Number) {
            Log.key(map, keys.size(), known.toString());
        }
        return keys.size();
    }

    /** Whether the order of a sorted map has the keys equal that `equals` has. */
    static boolean isNatural(Comparator<?> order, Object key) {
        return order == null
            && (key instanceof String || key instanceof Integer || key instanceof Long);
    }
}
