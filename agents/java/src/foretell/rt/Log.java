package foretell.rt;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Log of a run: the actions of its threads, in the order of the baton.
 *
 * The file is mapped, so that every complete record stays readable, whatever ends the virtual
 * machine. It grows by chunks that are filled with zeros first, so that a full disk is an error of
 * a write and not a fault. A record is a tag and varints (LEB128; signed ones zigzag). Tag 0 is the
 * end; {@link #SKIP} leads to the next chunk. The tag of a record is written last. Only the holder
 * of the baton writes; the reader is `java/log.rs` of foretell-translate.
 */
final class Log {
    static final int CHUNK = 8 << 20;
    /** Upper bound of the length of a record. */
    private static final int LONGEST = 64 << 10;
    private static final int LONGEST_TEXT = 2000;

    static final int SWITCH = 1;
    static final int OBJECT = 2;
    static final int CLASS_NAME = 3;
    static final int ALLOCATED = 4;
    static final int NODE = 5;
    static final int FRAME = 6;
    static final int READ = 7;
    static final int WRITE = 8;
    static final int ARRAY_READ = 9;
    static final int ARRAY_WRITE = 10;
    static final int LOCK = 11;
    static final int UNLOCK = 12;
    static final int TRY_FAILED = 13;
    static final int READ_LOCK = 14;
    static final int READ_UNLOCK = 15;
    static final int WAIT = 16;
    static final int WOKEN = 17;
    static final int TIMED_OUT = 18;
    static final int NOTIFY = 19;
    static final int NOTIFY_ALL = 20;
    static final int FORK = 21;
    static final int JOIN = 22;
    static final int END = 23;
    static final int THREAD_NAME = 24;
    static final int POST = 25;
    static final int DOWN = 26;
    static final int SEMAPHORE = 27;
    static final int ORDER_DOWN_POST = 28;
    static final int ARRIVE = 29;
    static final int LEAVE = 30;
    static final int BARRIER = 31;
    /** A try for the reader side of a lock that failed. */
    static final int TRY_READ_FAILED = 32;
    /**
     * A look at the state of a thread, a task or an executor, and a change of it; these are not
     * steps.
     */
    static final int LOOK = 33;
    static final int CHANGE = 34;
    static final int BLOCK_BEGIN = 35;
    static final int BLOCK_END = 36;
    static final int UNCAUGHT = 37;
    static final int DEADLOCK = 38;
    static final int DEPARTURE = 39;
    static final int STOPPED = 40;
    /** Order between tasks; these are not steps. */
    static final int ORDER_POST = 41;
    static final int ORDER_DOWN = 42;
    /** Downs of a semaphore and as many posts. */
    static final int LATCH = 43;
    /** A down of one semaphore and a post of another. */
    static final int PERMIT = 44;
    /** Field that a handle stands for. */
    static final int HANDLE = 45;
    /** Operation on a collection; one that failed to change it. */
    static final int OPERATION = 46;
    static final int OPERATION_ATTEMPT = 47;
    /**
     * Atomic accesses of atomic objects, of fields through handles, of array elements; the {@link
     * Effect} is added to the tag.
     */
    static final int ATOMIC = 48;
    static final int HANDLED = 52;
    static final int ELEMENT = 56;
    /** Values of a field or an element that code without events has written. */
    static final int INITIAL = 70;
    static final int INITIAL_ELEMENT = 71;
    /** A lock, or its reader side, taken by a try. */
    static final int TRY_LOCK = 72;
    static final int TRY_READ_LOCK = 73;
    /** A look at the state of an object, which is a step; the text of a key of a map. */
    static final int LOOK_STEP = 74;
    static final int KEY = 75;
    /** An object that a class initialiser has created. */
    static final int ALLOCATED_FOR_ALL = 76;
    /** Begin and validation of an optimistic read of a lock. */
    static final int OPTIMISTIC = 77;
    static final int VALIDATED = 78;
    /**
     * An optimistic read that gets no stamp, and a validation that fails; these come before the
     * hidden call that they are.
     */
    static final int REFUSED = 79;
    static final int INVALID = 82;
    /** Before the record of an atomic access that is not volatile: its mode. */
    static final int MODE = 83;
    /** A memory fence, with its order; no step. */
    static final int FENCE = 84;
    /** Use and end of a resource: in the hidden call that comes next, or steps of their own. */
    static final int RESOURCE_USED = 85;
    static final int RESOURCE_CLOSED = 86;
    static final int RESOURCE_USED_STEP = 87;
    static final int RESOURCE_CLOSED_STEP = 88;
    /** Call whose code is not recorded; its end, which is no step; its result's group. */
    static final int HIDDEN_CALL = 60;
    static final int HIDDEN_RETURN = 61;
    static final int HIDDEN_JOIN = 62;
    static final int HIDDEN_METHOD = 63;
    /** The rest of the thread follows everything that other threads have done. */
    static final int AFTER_OTHERS = 64;
    /** Plain accesses of fields through handles. */
    static final int HANDLED_READ = 65;
    static final int HANDLED_WRITE = 66;
    /** A down of a semaphore by a try. */
    static final int TRY_DOWN = 67;
    /** Accesses of consecutive elements, which belong to the step before. */
    static final int RANGE_READ = 68;
    static final int RANGE_WRITE = 69;
    /** Every step of a replay's schedule has run; the threads wait that had to. */
    static final int STEPS_DONE = 80;
    static final int ALL_BLOCKED = 81;
    /**
     * A wait of the run may end in a way that no event stands for: a time limit, or the end of the
     * virtual machine, which does not wait for daemon threads. Written once.
     */
    static final int OTHER_WAKE = 90;
    static final int SKIP = 255;
    /** Added to the number of an object: the lock that it is, not its monitor. */
    static final long LOCK_OBJECT = 1L << 31;

    /** State of a method besides that of objects. */
    static final int CLASS_STATE = 1;
    static final int KERNEL_STATE = 2;
    static final int EXCLUDED_STATE = 4;

    /**
     * Whether events are recorded: in a replay, as long as the schedule lasts. Records of the end
     * of a run are written in any case.
     */
    static boolean on;
    /** Whether events are recorded after the schedule of a replay. */
    private static boolean recordsOn;
    /** Whether the file is full or broken: nothing more is written. */
    private static boolean stopped;
    private static boolean otherWakeWritten;
    private static FileChannel channel;
    private static long chunks;
    private static final Memory MEMORY = Memory.open();
    private static final boolean SWAPS = ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN;
    /** Mapping of the chunk, its address, and the position in it. */
    private static MappedByteBuffer buffer;
    private static long base;
    static int at;
    private static ThreadState writer;
    private static int classes;

    private static final ClassValue<int[]> CLASS = new ClassValue<int[]>() {
        @Override
        protected int[] computeValue(Class<?> type) {
            return new int[1];
        }
    };

    private Log() {
    }

    static void open(Options options) throws IOException {
        recordsOn = options.recordsOn;
        RandomAccessFile file = new RandomAccessFile(options.log, "rw");
        channel = file.getChannel();
        nextChunk();
        byte[] magic = "FTJAVA2\n".getBytes("US-ASCII");
        for (byte b : magic) {
            putByte(at++, b);
        }
        at = put(at, options.seed);
        at = put(at, options.quantum);
        on = true;
    }

    private static void nextChunk() throws IOException {
        ByteBuffer zeros = ByteBuffer.allocate(1 << 20);
        long start = chunks * CHUNK;
        for (long done = 0; done < CHUNK; done += zeros.capacity()) {
            zeros.clear();
            while (zeros.hasRemaining()) {
                channel.write(zeros, start + done + zeros.position());
            }
        }
        buffer = channel.map(FileChannel.MapMode.READ_WRITE, start, CHUNK);
        base = MEMORY.address(buffer);
        chunks++;
        at = 0;
    }

    /** Makes room for a record. Returns false if nothing more can be written. */
    private static boolean room() {
        if (at <= CHUNK - LONGEST) {
            return !stopped;
        }
        return roomInNext();
    }

    private static boolean roomInNext() {
        if (stopped) {
            return false;
        }
        try {
            putByte(at, (byte) SKIP);
            nextChunk();
            return true;
        } catch (Throwable e) {
            // The records so far stay readable; the program continues unrecorded.
            putByte(at, (byte) STOPPED);
            on = false;
            stopped = true;
            return false;
        }
    }

    private static void putByte(int p, byte b) {
        MEMORY.putByte(base + p, b);
    }

    private static void putLong(int p, long v) {
        MEMORY.putLong(base + p, SWAPS ? Long.reverseBytes(v) : v);
    }

    private static int put(int p, long v) {
        while ((v & ~0x7fL) != 0) {
            putByte(p++, (byte) (v | 0x80));
            v >>>= 7;
        }
        putByte(p++, (byte) v);
        return p;
    }

    private static long zigzag(long v) {
        return (v << 1) ^ (v >> 63);
    }

    private static int put(int p, String s) {
        byte[] bytes;
        try {
            String text = s.length() > LONGEST_TEXT ? s.substring(0, LONGEST_TEXT) : s;
            bytes = text.getBytes("UTF-8");
        } catch (java.io.UnsupportedEncodingException impossible) {
            bytes = new byte[0];
        }
        p = put(p, bytes.length);
        for (byte b : bytes) {
            putByte(p++, b);
        }
        return p;
    }

    /** Makes the thread that of the records that follow. */
    private static void writerIs(ThreadState t) {
        if (writer != t) {
            switchTo(t);
        }
        if (t.node != t.loggedNode) {
            int p = put(at + 1, t.node);
            putByte(at, (byte) NODE);
            at = p;
            t.loggedNode = t.node;
        }
        if (t.unexplainedWait || t.lookup != 0) {
            writePending(t);
        }
        t.lastPosition = CHUNK - LONGEST;
    }

    /** Writes what the thread has done before the record that comes next. */
    private static void writePending(ThreadState t) {
        if (t.unexplainedWait) {
            t.unexplainedWait = false;
            putByte(at++, (byte) AFTER_OTHERS);
        }
        if (t.lookup != 0) {
            int p = put(put(at + 1, t.lookupSite), t.lookup);
            putByte(at, (byte) LOOK);
            at = p;
            t.lookup = 0;
        }
    }

    /**
     * Writes that the rest of the thread follows what other threads have done, if it waited, and
     * the lookup that has begun.
     */
    static void settle(ThreadState t) {
        if ((t.unexplainedWait || t.lookup != 0) && room()) {
            writerIs(t);
        }
    }

    /** Writes the text of a key of a map. */
    static void key(int map, int key, String text) {
        if (room()) {
            int p = put(put(put(at + 1, map), key), text);
            putByte(at, (byte) KEY);
            at = p;
        }
    }

    /**
     * Writes a hidden call or its end, with the number of the method, and pairs of an object that
     * it uses and the use: see {@link Plain}.
     */
    static void hidden(ThreadState t, int tag, int site, long number, long[] uses, int count) {
        hiddenWith(t, tag, site, number, count / 2, uses, count);
    }

    /** Writes the objects with which the result of a hidden call shares state. */
    static void hiddenJoin(ThreadState t, int site, long result, long[] ids, int count) {
        hiddenWith(t, HIDDEN_JOIN, site, result, count, ids, count);
    }

    private static void hiddenWith(ThreadState t, int tag, int site, long number, int items,
                                   long[] fields, int count) {
        if (room()) {
            writerIs(t);
            int p = put(put(put(at + 1, site), number), items);
            for (int i = 0; i < count; i++) {
                p = put(p, fields[i]);
            }
            putByte(at, (byte) tag);
            at = p;
        }
    }

    static void hiddenMethod(int number, int state, String owner, String name) {
        if (room()) {
            int p = put(put(put(at + 1, number), state), owner);
            p = put(p, name);
            putByte(at, (byte) HIDDEN_METHOD);
            at = p;
        }
    }

    static void object(int id, Object o) {
        if (!on || !room()) {
            return;
        }
        int number = classNumber(o);
        int p = put(put(at + 1, id), number);
        putByte(at, (byte) OBJECT);
        at = p;
    }

    /**
     * Returns the number of an object's class; each class has, as an object, a number of its own.
     */
    private static int classNumber(Object o) {
        if (o instanceof Class) {
            return newClass(((Class<?>) o).getName() + ".class");
        }
        Class<?> type = o.getClass();
        int[] number = CLASS.get(type);
        if (number[0] == 0) {
            number[0] = newClass(type.getName());
        }
        return number[0];
    }

    private static int newClass(String name) {
        int p = put(put(at + 1, ++classes), name);
        putByte(at, (byte) CLASS_NAME);
        at = p;
        return classes;
    }

    /** Writes an allocation. What a class initialiser allocates, every thread can know. */
    static void allocated(ThreadState t, int id, int site) {
        if (room()) {
            if (writer != t) {
                switchTo(t);
            }
            int p = put(put(at + 1, id), site);
            putByte(at, (byte) (t.unrecordedDepth == 0 ? ALLOCATED : ALLOCATED_FOR_ALL));
            at = p;
        }
    }

    /** Writes, once, that a wait may end in a way that no event stands for. */
    static void otherWake() {
        if (on && !otherWakeWritten && room()) {
            otherWakeWritten = true;
            putByte(at++, (byte) OTHER_WAKE);
        }
    }

    private static void switchTo(ThreadState t) {
        int p = put(at + 1, t.index);
        putByte(at, (byte) SWITCH);
        at = p;
        if (writer != null) {
            writer.lastPosition = -1;
        }
        writer = t;
    }

    static void pair(int tag, long a, long b) {
        if (room()) {
            int p = put(put(at + 1, a), b);
            putByte(at, (byte) tag);
            at = p;
        }
    }

    static void frame(int node, int parent, int callSite, int method) {
        if (on && room()) {
            int p = put(put(put(put(at + 1, node), parent), callSite), method);
            putByte(at, (byte) FRAME);
            at = p;
        }
    }

    // Accesses are most of the log: their numbers are packed, and written as two longs.

    /** Numbers below these ones are varints of at most three, and eight, bytes. */
    private static final int SMALL = 1 << 21;
    private static final long LARGE = 1L << 56;

    /** Returns the bytes of a varint, the first one lowest; `v` is below {@link #SMALL}. */
    private static long packed(int v) {
        return v < 0x80 ? v
            : v < 0x4000 ? v & 0x7f | 0x80 | v >>> 7 << 8
            : v & 0x7f | 0x80 | (v >>> 7 & 0x7f | 0x80) << 8 | v >>> 14 << 16;
    }

    /** Returns the number of bits of {@link #packed}. */
    private static int bits(int v) {
        return v < 0x80 ? 8 : v < 0x4000 ? 16 : 24;
    }

    /**
     * Writes a tag with numbers, of at most seven bytes together, and a value below {@link #LARGE}.
     * The bytes with the tag go last.
     */
    private static void putPacked(long head, int bits, long z) {
        long tail = z;
        int length = 1;
        if (z >= 0x80) {
            // Groups of seven bits, each moved into a byte of its own.
            tail = z & 0xfffffffL | (z & 0xfffffff0000000L) << 4;
            tail = tail & 0x3fff00003fffL | (tail & 0xfffc0000fffc000L) << 2;
            tail = tail & 0x7f007f007f007fL | (tail & 0x3f803f803f803f80L) << 1;
            // A seventh of the number of bits, rounded up.
            length = (70 - Long.numberOfLeadingZeros(z)) * 37 >>> 8;
            tail |= 0x80808080808080L & (1L << 8 * length - 8) - 1;
        }
        int p = at;
        putLong(p + 8, tail >>> 64 - bits);
        putLong(p, head | tail << bits);
        at = p + (bits >>> 3) + length;
    }

    static void access(ThreadState t, int tag, int site, int id, long value) {
        if (at > t.lastPosition || t.node != t.loggedNode || t.unexplainedWait || t.lookup != 0) {
            if (!room()) {
                return;
            }
            writerIs(t);
        }
        long z = zigzag(value);
        if (site < SMALL && id < SMALL && z >= 0 && z < LARGE) {
            int bits = 8 + bits(site);
            putPacked(tag | packed(site) << 8 | packed(id) << bits, bits + bits(id), z);
            return;
        }
        int p = put(put(put(at + 1, site), id), z);
        putByte(at, (byte) tag);
        at = p;
    }

    static void element(ThreadState t, int tag, int site, int id, int index, long value) {
        if (at > t.lastPosition || t.node != t.loggedNode || t.unexplainedWait || t.lookup != 0) {
            if (!room()) {
                return;
            }
            writerIs(t);
        }
        long z = zigzag(value);
        if (site < SMALL && id < SMALL && index < SMALL && z >= 0 && z < LARGE) {
            int bits = 8 + bits(site);
            int end = bits + bits(id);
            if (end + bits(index) <= 56) {
                putPacked(tag | packed(site) << 8 | packed(id) << bits | packed(index) << end,
                    end + bits(index), z);
                return;
            }
        }
        int p = put(put(put(put(at + 1, site), id), index), z);
        putByte(at, (byte) tag);
        at = p;
    }

    /**
     * Writes an atomic access. `of` is {@link #ATOMIC} with the `index` of an element plus 1,
     * {@link #HANDLED} with the number of a handle, or {@link #ELEMENT} with its index. The effect
     * says which of `old` and `now` count. `mode` is one of {@link AccessModes}.
     */
    static void atomic(ThreadState t, int of, int effect, int mode, int site, int id, int index,
                       long old, long now) {
        if (room()) {
            writerIs(t);
            int p = at + 1;
            if (mode != AccessModes.VOLATILE) {
                p = put(p, mode);
                putByte(p++, (byte) (of + effect));
            }
            p = put(put(put(p, site), id), index);
            if (effect != Effect.WRITE) {
                p = put(p, zigzag(old));
            }
            if (effect == Effect.WRITE || effect == Effect.UPDATE) {
                p = put(p, zigzag(now));
            }
            putByte(at, (byte) (mode == AccessModes.VOLATILE ? of + effect : MODE));
            at = p;
        }
    }

    /** Writes accesses of consecutive elements of an array with these values. */
    static void range(ThreadState t, int tag, int site, int id, int first, long[] values) {
        if (id > 0 && room()) {
            writerIs(t);
            int p = put(put(put(put(at + 1, site), id), first), values.length);
            for (long value : values) {
                p = put(p, zigzag(value));
            }
            putByte(at, (byte) tag);
            at = p;
        }
    }

    static void handle(int number, String owner, String field) {
        if (room()) {
            int p = put(put(put(at + 1, number), owner), field);
            putByte(at, (byte) HANDLE);
            at = p;
        }
    }

    /**
     * Writes an operation on a collection, or on a key of a map (0: none): a down of a semaphore
     * (0: none), the change of the version (a write without a read if `old` is greater), and a post
     * of another semaphore.
     */
    static void operation(ThreadState t, int tag, int site, int down, int id, int key, long old,
                          long now, int post) {
        if (room()) {
            writerIs(t);
            int p = put(put(put(put(at + 1, site), down), id), key);
            p = put(put(put(p, old), now), post);
            putByte(at, (byte) tag);
            at = p;
        }
    }

    static void event(ThreadState t, int tag) {
        if (room()) {
            writerIs(t);
            putByte(at, (byte) tag);
            at++;
        }
    }

    static void event(ThreadState t, int tag, int site) {
        if (room()) {
            writerIs(t);
            int p = put(at + 1, site);
            putByte(at, (byte) tag);
            at = p;
        }
    }

    static void event(ThreadState t, int tag, int site, long a) {
        if (room()) {
            writerIs(t);
            int p = put(put(at + 1, site), a);
            putByte(at, (byte) tag);
            at = p;
        }
    }

    static void event(ThreadState t, int tag, int site, long a, long b) {
        if (room()) {
            writerIs(t);
            int p = put(put(put(at + 1, site), a), b);
            putByte(at, (byte) tag);
            at = p;
        }
    }

    static void threadName(int thread, String name) {
        if (on && room()) {
            int p = put(put(at + 1, thread), name);
            putByte(at, (byte) THREAD_NAME);
            at = p;
        }
    }

    static void semaphore(int number, String name, long count) {
        if (room()) {
            int p = put(put(put(at + 1, number), count), name);
            putByte(at, (byte) SEMAPHORE);
            at = p;
        }
    }

    /** Writes an exception that the program did not catch, with its stack. */
    static void uncaught(ThreadState t, Throwable e) {
        if (!room()) {
            return;
        }
        int p = put(at + 1, t.index);
        p = put(p, e.getClass().getName());
        String message = e.getMessage();
        p = put(p, message == null ? "" : message);
        StackTraceElement[] stack = e.getStackTrace();
        int frames = Math.min(stack.length, 20);
        p = put(p, frames);
        for (int i = 0; i < frames; i++) {
            StackTraceElement f = stack[i];
            String file = f.getFileName() == null ? "" : f.getFileName() + ":" + f.getLineNumber();
            p = put(put(p, shortened(f.getClassName() + "." + f.getMethodName())), shortened(file));
        }
        putByte(at, (byte) UNCAUGHT);
        at = p;
    }

    private static String shortened(String s) {
        return s.length() > 300 ? s.substring(s.length() - 300) : s;
    }

    static void deadlock(int[] threads) {
        if (room()) {
            int p = put(at + 1, threads.length);
            for (int t : threads) {
                p = put(p, t);
            }
            putByte(at, (byte) DEADLOCK);
            at = p;
        }
    }

    /** Writes the waiting threads: thread, whether it joins, lock or thread. */
    static void allBlocked(long[] waits) {
        if (room()) {
            int p = put(at + 1, waits.length / 3);
            for (long number : waits) {
                p = put(p, number);
            }
            putByte(at, (byte) ALL_BLOCKED);
            at = p;
        }
    }

    /** Ends the recording of a replay. */
    static void stepsDone() {
        if (room()) {
            putByte(at++, (byte) STEPS_DONE);
        }
        on = recordsOn;
    }

    static void departure(long step, String message) {
        if (room()) {
            int p = put(put(at + 1, step), message);
            putByte(at, (byte) DEPARTURE);
            at = p;
        }
    }
}
