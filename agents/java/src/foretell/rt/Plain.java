package foretell.rt;

import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.stream.BaseStream;

/**
 * Collections and string builders of java.util and java.lang that have no synchronisation of their
 * own. Calls of their methods are plain accesses of the trace: reads and writes of the object's
 * structure, and of its parts (elements of an ArrayList, entries of a map), which an unsynchronised
 * program races on. Views and iterators have the structure of the collection that they come from,
 * their *base*.
 */
final class Plain {
    /** Uses of an object, as the log has them. */
    static final int OPAQUE = 0;
    /** Reads the structure. */
    static final int READ = 1;
    /** Reads the structure and all parts. */
    static final int READ_ALL = 2;
    /** Reads and writes the structure. */
    static final int WRITE = 3;
    /** Reads and writes the structure, and reads all parts. */
    static final int WRITE_ALL = 4;
    /** Touches nothing; not in the log. */
    static final int NONE = 5;
    /** Reads one part. */
    static final int READ_PART = 6;
    /** Reads and writes one part. */
    static final int WRITE_PART = 7;
    /** Reads and writes the state that an iterator has besides that of its base. */
    static final int WRITE_OWN = 8;

    /** Has the object's monitor during the call. */
    static final int LOCKED = 9;

    /** Atomic read and atomic update of an object whose methods are atomic. */
    static final int ATOMIC_READ = 10;
    static final int ATOMIC_UPDATE = 11;

    private static final Set<String> CLASSES = set("java.util.ArrayList java.util.LinkedList "
        + "java.util.ArrayDeque java.util.PriorityQueue java.util.HashMap java.util.LinkedHashMap "
        + "java.util.TreeMap java.util.HashSet java.util.LinkedHashSet java.util.TreeSet "
        + "java.util.IdentityHashMap java.util.EnumMap java.util.RegularEnumSet "
        + "java.util.JumboEnumSet java.util.BitSet java.util.StringJoiner "
        + "java.util.WeakHashMap java.lang.StringBuilder");
    /** Classes whose methods lock the object, or another one that it names. */
    private static final Set<String> SYNCHRONIZED = set("java.util.Vector java.util.Stack "
        + "java.util.Hashtable java.lang.StringBuffer");
    private static final String SYNCHRONIZED_VIEW = "java.util.Collections$Synchronized";
    /** Classes that use fields of the object when they make text and read it. */
    private static final Set<String> FORMATS = set("java.text.SimpleDateFormat "
        + "java.text.DecimalFormat java.text.MessageFormat java.text.ChoiceFormat");
    /** Classes of dates: getters complete fields that they compute from others. */
    private static final Set<String> DATES = set("java.util.GregorianCalendar java.util.Date");
    /** Methods of streams that read the source; others make a stage. */
    private static final Set<String> TERMINAL = set("forEach forEachOrdered toArray reduce collect "
        + "min max count sum average summaryStatistics anyMatch allMatch noneMatch findFirst "
        + "findAny toList");
    /** Methods of streams after which other code reads the source. */
    private static final Set<String> STREAM_ENDS = set("iterator spliterator close onClose");
    /** Classes whose methods are atomic, and do not wait. */
    private static final Set<String> ATOMIC = set(
        "java.util.concurrent.ConcurrentLinkedQueue java.util.concurrent.ConcurrentLinkedDeque "
        + "java.util.concurrent.CopyOnWriteArrayList java.util.concurrent.CopyOnWriteArraySet "
        + "java.util.concurrent.ConcurrentSkipListSet "
        + "java.util.concurrent.ConcurrentHashMap$KeySetView "
        + "java.util.concurrent.atomic.LongAdder java.util.concurrent.atomic.DoubleAdder "
        + "java.util.concurrent.atomic.LongAccumulator "
        + "java.util.concurrent.atomic.DoubleAccumulator "
        + "java.util.concurrent.atomic.AtomicStampedReference "
        + "java.util.concurrent.atomic.AtomicMarkableReference java.util.Properties");
    private static final Set<String> ATOMIC_READS = set("sum intValue longValue floatValue "
        + "doubleValue getReference getStamp isMarked get toString size isEmpty contains "
        + "containsAll peek peekFirst peekLast element getFirst getLast first last floor ceiling "
        + "lower higher indexOf lastIndexOf toArray hashCode equals getProperty getOrDefault "
        + "containsKey containsValue");
    private static final Set<String> ATOMIC_UPDATES = set("add increment decrement reset "
        + "sumThenReset accumulate getThenReset set compareAndSet weakCompareAndSet attemptStamp "
        + "attemptMark offer offerFirst offerLast addFirst addLast push pop poll pollFirst "
        + "pollLast remove removeFirst removeLast addIfAbsent addAllAbsent clear addAll "
        + "setProperty put putIfAbsent replace");
    private static final Set<String> ABSTRACT = set("java.util.AbstractList "
        + "java.util.AbstractMap");

    private static final Set<String> TOUCH_NOTHING = set("keySet values entrySet navigableKeySet "
        + "descendingKeySet descendingMap descendingSet headMap tailMap subMap headSet tailSet "
        + "subSet getKey comparator getClass reversed");
    private static final Set<String> READS = set("size isEmpty hasNext hasPrevious length "
        + "capacity iterator listIterator descendingIterator subList nextIndex previousIndex "
        + "cardinality stream parallelStream");
    private static final Set<String> READS_ALL = set("get getOrDefault contains containsKey "
        + "containsValue containsAll indexOf lastIndexOf peek peekFirst peekLast element getFirst "
        + "getLast first last firstKey lastKey floor ceiling lower higher floorKey ceilingKey "
        + "elementAt firstElement lastElement search empty "
        + "lowerKey higherKey floorEntry ceilingEntry lowerEntry higherEntry firstEntry lastEntry "
        + "toArray toString hashCode equals forEach next previous getValue clone charAt "
        + "substring subSequence codePointAt getChars compareTo nextSetBit nextClearBit "
        + "previousSetBit previousClearBit intersects toLongArray toByteArray forEachRemaining");
    private static final Set<String> WRITES = set("append addFirst addLast offer offerFirst "
        + "addElement offerLast push put putAll merge compute computeIfAbsent computeIfPresent");
    private static final Set<String> WRITES_ALL = set("add addAll pop poll pollFirst pollLast "
        + "remove removeAll removeFirst removeLast removeIf removeRange retainAll clear set "
        + "putIfAbsent replace replaceAll sort setValue ensureCapacity trimToSize setLength "
        + "setCharAt insert delete deleteCharAt reverse pollFirstEntry pollLastEntry flip and or "
        + "setElementAt removeElementAt insertElementAt removeElement removeAllElements setSize "
        + "xor andNot removeFirstOccurrence removeLastOccurrence appendCodePoint setEmptyValue");
    /** Methods that leave an empty queue unchanged. */
    private static final Set<String> POLLS = set("poll pollFirst pollLast pop remove removeFirst "
        + "removeLast pollFirstEntry pollLastEntry");
    /** Methods of maps and sets that depend on the presence of a key. */
    private static final Set<String> KEYED = set("get getOrDefault containsKey contains put "
        + "putIfAbsent add remove computeIfAbsent");

    /** Static methods, and methods of other classes, by what they do with such an argument. */
    private static final Set<String> WRAP = set("unmodifiableCollection unmodifiableList "
        + "unmodifiableSet unmodifiableMap unmodifiableSortedSet unmodifiableSortedMap "
        + "unmodifiableNavigableSet unmodifiableNavigableMap synchronizedCollection "
        + "synchronizedList synchronizedSet synchronizedMap synchronizedSortedSet "
        + "synchronizedSortedMap synchronizedNavigableSet synchronizedNavigableMap "
        + "checkedCollection checkedList checkedSet checkedMap asLifoQueue newSetFromMap "
        + "requireNonNull");
    private static final Set<String> CHANGE = set("sort shuffle reverse swap addAll fill rotate "
        + "replaceAll");
    private static final Set<String> LOOK = set("addAll putAll containsAll removeAll retainAll "
        + "equals join valueOf format formatted append insert copyOf max min frequency disjoint "
        + "binarySearch toString hashCode hash print println printf contentEquals "
        + "deepToString indexOfSubList <init>");
    /** Methods that read the elements' own state for certain. */
    private static final Set<String> DESCRIBE = set("toString valueOf append format formatted join "
        + "hashCode hash deepToString deepHashCode print println printf");

    /** Most elements of a list in which the runtime looks for one. */
    private static final int MOST_COMPARED = 64;

    /** Methods that call a function of the program with the monitor locked. */
    private static final Set<String> CALLING = set("compute computeIfAbsent computeIfPresent merge "
        + "forEach replaceAll removeIf sort");

    private static Field accessOrder;
    private static Field mutexOfCollection;
    private static Field mutexOfMap;

    /** Whether the methods of a class lock a monitor. */
    private static final ClassValue<Boolean> IS_SYNCHRONIZED = new ClassValue<Boolean>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            Class<?> c = type;
            while (c != null && HiddenUse.isRecorded(c)) {
                c = c.getSuperclass();
            }
            return c != null && (SYNCHRONIZED.contains(c.getName())
                || c.getName().startsWith(SYNCHRONIZED_VIEW)
                || c.getName().equals("java.util.Vector$Itr")
                || c.getName().equals("java.util.Vector$ListItr"));
        }
    };

    /** Whether objects of a class have plain accesses. */
    private static final ClassValue<Boolean> IS_PLAIN = new ClassValue<Boolean>() {
        @Override
        protected Boolean computeValue(Class<?> type) {
            Class<?> c = type;
            while (c != null && HiddenUse.isRecorded(c)) {
                c = c.getSuperclass();
            }
            return c != null && (isPlainName(c.getName()) || isStream(c));
        }
    };

    private Plain() {
    }

    private static Set<String> set(String names) {
        return new HashSet<String>(Arrays.asList(names.split(" ")));
    }

    private static boolean isPlainName(String name) {
        int nested = name.indexOf('$');
        if (nested < 0) {
            return CLASSES.contains(name) || ATOMIC.contains(name) || SYNCHRONIZED.contains(name)
                || FORMATS.contains(name) || DATES.contains(name);
        }
        String outer = name.substring(0, nested);
        return ATOMIC.contains(name) || !name.contains("$$Lambda") && !name.contains("Spliterator")
            && (CLASSES.contains(outer) || ABSTRACT.contains(outer)
                || SYNCHRONIZED.contains(outer) || name.startsWith(SYNCHRONIZED_VIEW)
                || name.startsWith("java.util.Collections$Unmodifiable"));
    }

    /** Whether a class is one of the platform's streams, which are views of their source. */
    private static boolean isStream(Class<?> type) {
        return BaseStream.class.isAssignableFrom(type)
            && type.getName().startsWith("java.util.stream.");
    }

    /** Whether calls of an object's methods are plain accesses. */
    static boolean is(Object o) {
        return o != null && !(o instanceof RecordedObject) && IS_PLAIN.get(o.getClass())
            && !ObjectIds.isImpure(o);
    }

    static boolean is(Class<?> type) {
        return IS_PLAIN.get(type);
    }

    /** Whether an object is a collection itself, and not a view or an iterator of one. */
    static boolean isBase(Object o) {
        return o.getClass().getName().indexOf('$') < 0 || HiddenUse.isRecorded(o.getClass());
    }

    /** Returns the monitor that calls of an object's methods lock; null if there is none. */
    static Object mutex(Object o) {
        if (o == null || o instanceof RecordedObject || !IS_SYNCHRONIZED.get(o.getClass())) {
            return null;
        }
        if (o instanceof java.util.Iterator) {
            return ObjectIds.collection(o);
        }
        if (!o.getClass().getName().startsWith(SYNCHRONIZED_VIEW)) {
            return o;
        }
        try {
            if (mutexOfMap == null) {
                mutexOfCollection = mutexField("Collection");
                mutexOfMap = mutexField("Map");
            }
            return (o instanceof Map ? mutexOfMap : mutexOfCollection).get(o);
        } catch (Exception e) {
            // Without access to the field the object's calls are not modelled.
            return null;
        }
    }

    private static Field mutexField(String of) throws Exception {
        Field f = Class.forName(SYNCHRONIZED_VIEW + of).getDeclaredField("mutex");
        f.setAccessible(true);
        return f;
    }

    static boolean isAtomic(Object o) {
        return ATOMIC.contains(o.getClass().getName());
    }

    static boolean isSynchronized(Class<?> type) {
        return IS_SYNCHRONIZED.get(type);
    }

    /** Returns the use of a receiver by a method. */
    static int ofReceiver(Class<?> type, String method, String desc) {
        if (ATOMIC.contains(type.getName())) {
            return ATOMIC_READS.contains(method) ? ATOMIC_READ
                : ATOMIC_UPDATES.contains(method) ? ATOMIC_UPDATE : OPAQUE;
        }
        if (IS_SYNCHRONIZED.get(type) && CALLING.contains(method)) {
            return OPAQUE;
        }
        if (FORMATS.contains(type.getName())) {
            boolean changes = method.startsWith("format") || method.startsWith("parse")
                || method.startsWith("set") || method.startsWith("apply");
            return changes ? WRITE_ALL : READ_ALL;
        }
        if (DATES.contains(type.getName())) {
            return ofDate(method);
        }
        if (isStream(type)) {
            return TERMINAL.contains(method) ? READ_ALL
                : STREAM_ENDS.contains(method) ? OPAQUE : NONE;
        }
        if (TOUCH_NOTHING.contains(method)) {
            return NONE;
        }
        if (READS.contains(method)) {
            return READ;
        }
        if (READS_ALL.contains(method)) {
            return READ_ALL;
        }
        if (WRITES.contains(method) || method.equals("add") && !desc.startsWith("(I")) {
            return WRITE;
        }
        return WRITES_ALL.contains(method) ? WRITE_ALL : OPAQUE;
    }

    /** Returns the use of a date or a calendar, whose getters and `getTime` complete its fields. */
    private static int ofDate(String method) {
        boolean calendar = method.equals("add") || method.equals("roll")
            || method.startsWith("clear") || method.startsWith("complete");
        return calendar || method.startsWith("set") ? WRITE_ALL : READ_ALL;
    }

    /** Returns the use of an argument whose declared type is not Object, or that is described. */
    static int ofArgument(String owner, String method) {
        if (owner.equals("java.util.Collections") || owner.equals("java.util.Objects")) {
            return WRAP.contains(method) ? NONE : CHANGE.contains(method) ? WRITE_ALL
                : LOOK.contains(method) ? READ_ALL : OPAQUE;
        }
        return LOOK.contains(method) && isReader(owner) ? READ_ALL : OPAQUE;
    }

    /** Whether the methods of a class only read their arguments. */
    private static boolean isReader(String owner) {
        return owner.equals("java.lang.String") || owner.equals("java.io.PrintStream")
            || owner.equals("java.util.List") || owner.equals("java.util.Set")
            || owner.equals("java.util.Map") || owner.equals("java.lang.Object")
            || owner.startsWith("java.util.Abstract") || owner.startsWith("java.lang.Abstract")
            || owner.startsWith("java.lang.StringBu") || CLASSES.contains(owner)
            || owner.equals("java.util.Vector") || owner.equals("java.util.Hashtable")
            || owner.startsWith(SYNCHRONIZED_VIEW) || owner.startsWith("java.util.concurrent.");
    }

    /** Returns the use of the elements that a method compares or describes. */
    static int ofElements(String method) {
        return DESCRIBE.contains(method) ? READ_ALL : OPAQUE;
    }

    static boolean isKeyed(String method) {
        return KEYED.contains(method);
    }

    static boolean isPoll(String method, String desc) {
        return POLLS.contains(method) && desc.startsWith("()");
    }

    static boolean isIterator(Object o) {
        return o instanceof java.util.Iterator;
    }

    /** Whether a queue is known to be empty, so that a method which takes an element only reads. */
    static boolean isEmpty(Object o) {
        return o instanceof Collection && ((Collection<?>) o).isEmpty()
            || o instanceof Map && ((Map<?, ?>) o).isEmpty();
    }

    /** Whether each lookup changes the order of a map's entries. */
    static boolean isAccessOrdered(Object o) {
        if (!(o instanceof LinkedHashMap)) {
            return false;
        }
        try {
            if (accessOrder == null) {
                Field f = LinkedHashMap.class.getDeclaredField("accessOrder");
                f.setAccessible(true);
                accessOrder = f;
            }
            return accessOrder.getBoolean(o);
        } catch (Exception e) {
            // Without access to the field the map counts as one in the order of insertion.
            return false;
        }
    }

    /** Whether a collection or a map contains a key; the key's own methods have no events. */
    static boolean contains(ThreadState t, Object o, Object key) {
        if (o instanceof List && ((List<?>) o).size() > MOST_COMPARED) {
            return true;
        }
        t.unrecordedDepth++;
        try {
            if (o instanceof Map) {
                return ((Map<?, ?>) o).containsKey(key);
            }
            return o instanceof Collection && ((Collection<?>) o).contains(key);
        } catch (RuntimeException e) {
            return false;
        } finally {
            t.unrecordedDepth--;
        }
    }

    /** Returns the number of the part of a map that is the entry of a key; 0 if it has none. */
    static int part(ThreadState t, Object map, Object key) {
        if (!(map instanceof HashMap || map instanceof SortedMap)
            || map instanceof SortedMap && !MapKeys.isNatural(((SortedMap<?, ?>) map).comparator(),
                key)) {
            return 0;
        }
        return MapKeys.of(t, map, key);
    }
}
