package foretell.rt;

/** What an atomic access does; the log's tags count on from what it is an access of by these. */
final class Effect {
    static final int READ = 0;
    static final int WRITE = 1;
    static final int UPDATE = 2;
    /** A read that would have been an update if it had seen something else. */
    static final int FAILED_UPDATE = 3;

    private Effect() {
    }
}
