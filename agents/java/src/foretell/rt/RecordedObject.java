package foretell.rt;

/**
 * Superclass of every recorded class that would extend Object, with fields of the recorder.
 *
 * An object's number is needed at every access, and a table look-up costs more than the access.
 * Arrays and objects of other classes are in {@link ObjectIds}. The superclass is not part of a
 * serialised form.
 */
public class RecordedObject {
    /** Number of the object; 0: none yet. */
    transient int foretellId;
    /** Logical state of its monitor. */
    transient Monitor foretellMonitor;

    public RecordedObject() {
    }
}
