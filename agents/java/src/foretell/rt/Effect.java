package foretell.rt;

/** Effects of an atomic access; the log adds them to the tag of the accessed object. */
final class Effect {
    static final int READ = 0;
    static final int WRITE = 1;
    static final int UPDATE = 2;
    /** A compare-and-set that failed: a read that would have been an update for another value. */
    static final int FAILED_UPDATE = 3;

    private Effect() {
    }
}
