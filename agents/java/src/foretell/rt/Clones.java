package foretell.rt;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;

/**
 * Copies of objects by `Object.clone`: one step that reads the fields of the object and writes those
 * of the copy. Only fields of recorded classes are variables; final ones are not.
 */
public final class Clones {
    private static final ClassValue<Field[]> FIELDS = new ClassValue<Field[]>() {
        @Override
        protected Field[] computeValue(Class<?> type) {
            ArrayList<Field> fields = new ArrayList<Field>();
            for (Class<?> c = type; c != null && HiddenUse.isRecorded(c); c = c.getSuperclass()) {
                for (Field f : c.getDeclaredFields()) {
                    int not = Modifier.STATIC | Modifier.FINAL;
                    if ((f.getModifiers() & not) == 0) {
                        f.setAccessible(true);
                        fields.add(f);
                    }
                }
            }
            return fields.toArray(new Field[0]);
        }
    };
    private static final ClassValue<int[]> HANDLES = new ClassValue<int[]>() {
        @Override
        protected int[] computeValue(Class<?> type) {
            Field[] fields = FIELDS.get(type);
            int[] handles = new int[fields.length];
            for (int i = 0; i < handles.length; i++) {
                handles[i] = FieldReflection.number(fields[i]);
            }
            return handles;
        }
    };
    private static final long[] NO_USES = {};

    private Clones() {
    }

    /** Hook after the call. */
    public static void cloned(Object original, Object copy, int site) {
        if (copy instanceof RecordedObject) {
            ((RecordedObject) copy).foretellId = 0;
            ((RecordedObject) copy).foretellMonitor = null;
        }
        ThreadState t = Synchronizers.recordingThread();
        if (t == null) {
            return;
        }
        if (Log.on) {
            record(t, original, copy, site);
        }
        Hooks.stepLater(t, Kind.HIDDEN_CALL, site);
    }

    private static void record(ThreadState t, Object original, Object copy, int site) {
        int id = ObjectIds.of(copy);
        if (id > 0) {
            Log.allocated(t, id, site);
        }
        Field[] fields = FIELDS.get(copy.getClass());
        int[] handles = HANDLES.get(copy.getClass());
        long[] values = new long[fields.length];
        try {
            for (int i = 0; i < values.length; i++) {
                values[i] = FieldReflection.value(fields[i], copy);
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        Log.hidden(t, Log.HIDDEN_CALL, site, 0, NO_USES, 0);
        Log.fields(t, Log.FIELDS_READ, site, ObjectIds.of(original), handles, values);
        Log.fields(t, Log.FIELDS_WRITE, site, id, handles, values);
    }
}
