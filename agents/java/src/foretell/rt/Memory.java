package foretell.rt;

/**
 * Memory that is not on the heap, by its address. A mapped buffer checks each access anew, and does
 * so in many small methods, which take long until the virtual machine has compiled them.
 */
abstract class Memory {
    /** Returns the memory of this virtual machine: from Java 9 on `Unsafe` is in another package. */
    static Memory open() {
        String version = System.getProperty("java.specification.version");
        return version.startsWith("1.") ? new OldMemory() : new PlatformMemory();
    }

    abstract void putByte(long address, byte value);

    abstract void putLong(long address, long value);

    /** Returns the address of a buffer that is not on the heap. */
    abstract long address(java.nio.Buffer buffer);
}
