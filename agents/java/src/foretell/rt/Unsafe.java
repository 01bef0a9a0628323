package foretell.rt;

import java.lang.reflect.Field;

/**
 * Signatures of the platform's class of this name, which the compiler does not find. The jar has the
 * references to the platform's instead of this class.
 */
abstract class Unsafe {
    static Unsafe getUnsafe() {
        throw new UnsupportedOperationException();
    }

    abstract void putByte(long address, byte value);

    abstract void putLong(long address, long value);

    abstract long getLong(Object o, long offset);

    abstract long objectFieldOffset(Field field);
}
