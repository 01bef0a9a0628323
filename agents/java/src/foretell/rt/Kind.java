package foretell.rt;

/** Kinds of steps, with the names that schedules use. */
final class Kind {
    static final int READ = 0;
    static final int WRITE = 1;
    static final int ATOMIC = 2;
    static final int LOCK = 3;
    static final int READ_LOCK = 4;
    static final int UNLOCK = 5;
    static final int WAIT = 6;
    static final int WOKEN = 7;
    static final int TIMED_OUT = 8;
    static final int SIGNAL = 9;
    static final int BROADCAST = 10;
    static final int POST = 11;
    static final int DOWN = 12;
    static final int ARRIVE = 13;
    static final int LEAVE = 14;
    static final int CREATE = 15;
    static final int JOIN = 16;
    static final int HIDDEN_CALL = 17;

    static final String[] NAMES = {"Read", "Write", "Atomic", "Lock", "ReadLock", "Unlock", "Wait",
        "Woken",
        "TimedOut", "Signal", "Broadcast", "Post", "Down", "Arrive", "Leave", "Create", "Join",
        "HiddenCall"};

    private Kind() {
    }

    static int named(String name) {
        for (int i = 0; i < NAMES.length; i++) {
            if (NAMES[i].equals(name)) {
                return i;
            }
        }
        return -1;
    }
}
