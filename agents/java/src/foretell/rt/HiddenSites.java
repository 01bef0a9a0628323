package foretell.rt;

import java.util.Arrays;

/** Called methods of the sites at which recorded code may call code that is not recorded. */
public final class HiddenSites {
    /** A call as the class file has it. */
    static final class Call {
        /** Class that the call names, with dots. */
        final String owner;
        final String name;
        final String desc;
        /** Whether there is no receiver: a static method or a constructor. */
        final boolean isStatic;
        /** Whether the method is that of the named class, whatever the receiver's class is. */
        final boolean special;
        /** Whether the arguments are packed into an array. */
        final boolean packed;
        /** Whether the method may only compare and describe an argument: its type is Object. */
        final boolean[] element;

        Call(String owner, String name, String desc, boolean isStatic, boolean special,
             boolean[] element, boolean packed) {
            this.owner = owner;
            this.name = name;
            this.desc = desc;
            this.isStatic = isStatic;
            this.special = special;
            this.element = element;
            this.packed = packed;
        }
    }

    private static Call[] calls = new Call[1024];
    /** Last decision at each site. */
    private static HiddenUse[] last = new HiddenUse[1024];

    private HiddenSites() {
    }

    /**
     * Adds a call. `element` has an item for each argument that the hooks get, true if its declared
     * type is Object.
     */
    public static synchronized void add(int site, String owner, String name, String desc,
                                        boolean isStatic, boolean special, boolean[] element,
                                        boolean packed) {
        if (site >= calls.length) {
            int length = Math.max(site + 1, calls.length * 2);
            last = Arrays.copyOf(last, length);
            calls = Arrays.copyOf(calls, length);
        }
        calls[site] = new Call(owner, name, desc, isStatic, special, element, packed);
    }

    static Call call(int site) {
        return calls[site];
    }

    /** Returns the decision for a receiver of this class. */
    static HiddenUse use(Class<?> type, int site) {
        HiddenUse[] cache = last;
        HiddenUse use = site < cache.length ? cache[site] : null;
        if (use != null && use.type == type) {
            return use;
        }
        use = HiddenUse.of(type, calls[site]);
        if (site < cache.length) {
            cache[site] = use;
        }
        return use;
    }
}
