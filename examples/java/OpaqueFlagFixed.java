import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * OpaqueFlag, corrected: the store of the flag releases and the load acquires, so that the message
 * is there when the flag is.
 */
public class OpaqueFlagFixed {
    static int message;
    static int ready;
    static final VarHandle READY;

    static {
        try {
            READY = MethodHandles.lookup().findStaticVarHandle(OpaqueFlagFixed.class, "ready",
                int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static void write() {
        message = 42;
        READY.setRelease(1);
    }

    static void read() {
        while ((int) READY.getAcquire() == 0) {
            Thread.onSpinWait();
        }
        System.out.println(message);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread writer = new Thread(OpaqueFlagFixed::write);
        Thread reader = new Thread(OpaqueFlagFixed::read);
        writer.start();
        reader.start();
        writer.join();
        reader.join();
    }
}
