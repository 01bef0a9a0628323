package foretell.rt;

import java.lang.reflect.Field;
import java.nio.Buffer;

/** Memory of Java 8 by `sun.misc.Unsafe`, which takes the place of {@link Unsafe} in the jar. */
final class OldMemory extends Memory {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();

    @Override
    void putByte(long address, byte value) {
        UNSAFE.putByte(address, value);
    }

    @Override
    void putLong(long address, long value) {
        UNSAFE.putLong(address, value);
    }

    @Override
    long address(Buffer buffer) {
        try {
            Field field = Buffer.class.getDeclaredField("address");
            return UNSAFE.getLong(buffer, UNSAFE.objectFieldOffset(field));
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException(e);
        }
    }
}
