package foretell.rt;

/**
 * Call tree. A node is a method called from a site in its caller's node. An event names the node of
 * its thread. Nodes are written as they are added, so that calls without events take no space.
 */
final class Stacks {
    /** Depth below which calls are not told apart. */
    private static final int MAX_DEPTH = 100;

    private static long[] keys = new long[1 << 12];
    private static int[] nodes = new int[1 << 12];
    private static int[] parents = new int[1 << 11];
    private static int count = 1;

    private Stacks() {
    }

    static void enter(ThreadState t, int method, int callSite) {
        if (t.depth >= MAX_DEPTH) {
            t.framesOverLimit++;
            return;
        }
        int from = t.depth == 0 ? 0 : callSite;
        t.depth++;
        t.node = child(t.node, from, method);
    }

    static void leave(ThreadState t) {
        if (t.framesOverLimit > 0) {
            t.framesOverLimit--;
        } else if (t.depth > 0) {
            t.depth--;
            t.node = parents[t.node];
        }
    }

    private static int child(int parent, int callSite, int method) {
        long key = ((long) parent << 42) ^ ((long) callSite << 21) ^ method;
        int mask = keys.length - 1;
        int at = slot(key, mask);
        while (nodes[at] != 0) {
            if (keys[at] == key) {
                return nodes[at];
            }
            at = (at + 1) & mask;
        }
        return add(key, at, parent, callSite, method);
    }

    /**
     * Returns the slot of a key. Keys are exact up to 21 bits of each part; beyond that two calls
     * may share a node, which makes a stack inexact.
     */
    private static int slot(long key, int mask) {
        return (int) (key * 0x9e3779b97f4a7c15L >>> 40) & mask;
    }

    private static int add(long key, int at, int parent, int callSite, int method) {
        int node = count++;
        keys[at] = key;
        nodes[at] = node;
        if (node == parents.length) {
            parents = java.util.Arrays.copyOf(parents, node * 2);
        }
        parents[node] = parent;
        Log.frame(node, parent, callSite, method);
        if (count * 2 > keys.length) {
            grow();
        }
        return node;
    }

    private static void grow() {
        long[] oldKeys = keys;
        int[] oldNodes = nodes;
        keys = new long[oldKeys.length * 2];
        nodes = new int[oldKeys.length * 2];
        int mask = keys.length - 1;
        for (int i = 0; i < oldKeys.length; i++) {
            if (oldNodes[i] != 0) {
                int at = slot(oldKeys[i], mask);
                while (nodes[at] != 0) {
                    at = (at + 1) & mask;
                }
                keys[at] = oldKeys[i];
                nodes[at] = oldNodes[i];
            }
        }
    }

    /** Removes the runtime's frames from a stack that the program may print. */
    static <E extends Throwable> E withoutRuntimeFrames(E e) {
        StackTraceElement[] stack = e.getStackTrace();
        int n = 0;
        for (StackTraceElement f : stack) {
            if (!f.getClassName().startsWith("foretell.rt.")
                && !f.getMethodName().startsWith("foretell$")) {
                stack[n++] = f;
            }
        }
        if (n < stack.length) {
            e.setStackTrace(java.util.Arrays.copyOf(stack, n));
        }
        return e;
    }
}
