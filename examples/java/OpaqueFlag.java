import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A message is written, then a flag is set; the reader waits for the flag and reads the message.
 * The flag is set in opaque mode, which orders nothing else: the reader may see the flag before the
 * message. No interleaving of the two threads shows it.
 */
public class OpaqueFlag {
    static int message;
    static int ready;
    static final VarHandle READY;

    static {
        try {
            READY = MethodHandles.lookup().findStaticVarHandle(OpaqueFlag.class, "ready",
                int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static void write() {
        message = 42;
        READY.setOpaque(1);
    }

    static void read() {
        while ((int) READY.getAcquire() == 0) {
            Thread.onSpinWait();
        }
        System.out.println(message);
    }

    public static void main(String[] args) throws InterruptedException {
        Thread writer = new Thread(OpaqueFlag::write);
        Thread reader = new Thread(OpaqueFlag::read);
        writer.start();
        reader.start();
        writer.join();
        reader.join();
    }
}
