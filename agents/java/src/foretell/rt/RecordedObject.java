package foretell.rt;

/**
 * The superclass of every recorded class that would extend Object: room for what the recorder knows of an object.
 *
 * An object's identity is needed at every access, and a look-up in a table costs more than the access. Arrays and
 * objects of other classes are found in {@link ObjectIds}. The superclass is no part of a serialised form.
 */
public class RecordedObject {
    /** Number of the object; 0: it has none yet. */
    transient int foretellId;
    /** Its monitor as the scheduler sees it. */
    transient Monitor foretellMonitor;

    public RecordedObject() {
    }
}
