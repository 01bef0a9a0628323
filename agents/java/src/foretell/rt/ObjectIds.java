package foretell.rt;

import java.lang.ref.WeakReference;

/**
 * Numbers of objects, in the order in which the log first names them. Objects of recorded classes
 * have theirs in a field ({@link RecordedObject}); the rest are in a table of weak references. Only
 * the holder of the baton uses the table.
 */
final class ObjectIds {
    private static final class Entry extends WeakReference<Object> {
        final int hash;
        final int id;
        Monitor monitor;
        Entry next;
        /** Number of the collection that a view or an iterator is of; 0: the object itself. */
        int base;
        /** Whether the object is a view of one whose calls are not plain accesses. */
        boolean impure;
        /** The collection whose monitor the methods of an iterator lock. */
        Object collection;

        Entry(Object object, int hash, int id) {
            super(object);
            this.hash = hash;
            this.id = id;
        }
    }

    private static Entry[] table = new Entry[1 << 12];
    private static int count;
    private static int last;
    /** Entry that was found last: most accesses are of the object of the access before. */
    private static Entry recent;

    private ObjectIds() {
    }

    /** Returns the number of an object; 0 for null, -1 if there is no memory for one. */
    static int of(Object o) {
        if (o instanceof RecordedObject) {
            RecordedObject b = (RecordedObject) o;
            int id = b.foretellId;
            return id != 0 ? id : fresh(b);
        }
        if (o == null) {
            return 0;
        }
        Entry e = entry(o);
        return e == null ? -1 : e.id;
    }

    /** Whether an object has a number. */
    static boolean isKnown(Object o) {
        if (o instanceof RecordedObject) {
            return ((RecordedObject) o).foretellId != 0;
        }
        int hash = System.identityHashCode(o);
        for (Entry e = table[hash & (table.length - 1)]; e != null; e = e.next) {
            if (e.hash == hash && e.get() == o) {
                return true;
            }
        }
        return false;
    }

    /** Returns the number of the collection whose structure an object has. */
    static int base(Object o) {
        Entry e = o instanceof RecordedObject ? null : entry(o);
        return e == null || e.base == 0 ? of(o) : e.base;
    }

    /** Returns the collection whose monitor the methods of an iterator lock. */
    static Object collection(Object iterator) {
        Entry e = iterator instanceof RecordedObject ? null : entry(iterator);
        return e == null ? null : e.collection;
    }

    static void setCollection(Object iterator, Object collection) {
        Entry e = iterator instanceof RecordedObject ? null : entry(iterator);
        if (e != null) {
            e.collection = collection;
        }
    }

    /** Makes an object a view of the collection with a number; 0: of no known collection. */
    static void setBase(Object view, int base) {
        Entry e = view instanceof RecordedObject ? null : entry(view);
        if (e != null) {
            e.base = base;
            e.impure = base == 0;
        }
    }

    /** Whether an object is a view of no known collection. */
    static boolean isImpure(Object o) {
        int hash = System.identityHashCode(o);
        for (Entry e = table[hash & (table.length - 1)]; e != null; e = e.next) {
            if (e.hash == hash && e.get() == o) {
                return e.impure;
            }
        }
        return false;
    }

    static Monitor monitor(Object o) {
        if (o instanceof RecordedObject) {
            RecordedObject b = (RecordedObject) o;
            Monitor m = b.foretellMonitor;
            if (m == null) {
                m = b.foretellMonitor = new Monitor();
            }
            return m;
        }
        Entry e = entry(o);
        if (e == null) {
            return null;
        }
        if (e.monitor == null) {
            e.monitor = new Monitor();
        }
        return e.monitor;
    }

    private static Entry entry(Object o) {
        Entry last = recent;
        if (last != null && last.get() == o) {
            return last;
        }
        int hash = System.identityHashCode(o);
        for (Entry e = table[hash & (table.length - 1)]; e != null; e = e.next) {
            if (e.hash == hash && e.get() == o) {
                recent = e;
                return e;
            }
        }
        recent = add(o, hash);
        return recent;
    }

    private static int fresh(RecordedObject b) {
        int id = ++last;
        b.foretellId = id;
        Log.object(id, b);
        return id;
    }

    private static Entry add(Object o, int hash) {
        try {
            if (count > table.length) {
                grow();
            }
            Entry e = new Entry(o, hash, last + 1);
            last++;
            int at = hash & (table.length - 1);
            e.next = table[at];
            table[at] = e;
            count++;
            Log.object(e.id, o);
            return e;
        } catch (OutOfMemoryError full) {
            return null;
        }
    }

    /** Removes collected objects, and doubles the table if few were. */
    private static void grow() {
        int left = 0;
        for (Entry first : table) {
            for (Entry e = first; e != null; e = e.next) {
                left += e.get() == null ? 0 : 1;
            }
        }
        Entry[] old = table;
        table = new Entry[left > old.length / 2 ? old.length * 2 : old.length];
        count = 0;
        for (Entry e : old) {
            while (e != null) {
                Entry next = e.next;
                if (e.get() != null) {
                    int at = e.hash & (table.length - 1);
                    e.next = table[at];
                    table[at] = e;
                    count++;
                }
                e = next;
            }
        }
    }
}
