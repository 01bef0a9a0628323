import java.io.*;
import java.lang.ref.*;
import java.nio.file.*;
import java.util.*;
import java.util.function.*;

/** Other parts of the platform through which threads pass data. */
final class Platform extends Scenario {
    static final class Lazy {
        static final int[] TABLE = new int[1];
        static { TABLE[0] = 42; }
    }
    static int[] unsafeTable;

    public static void main(String[] args) throws Exception {
        bug = args[1].equals("bug");
        switch (args[0]) {
            case "pipedStream" -> {
                PipedOutputStream out = new PipedOutputStream();
                PipedInputStream in = new PipedInputStream(out);
                pass(() -> io(() -> { out.write(1); out.flush(); return 0; }), () -> io(in::read));
            }
            case "bufferedReader" -> {
                PipedWriter out = new PipedWriter();
                BufferedReader in = new BufferedReader(new PipedReader(out));
                pass(() -> io(() -> { out.write("line\n"); out.close(); return 0; }), () -> io(in::readLine));
            }
            case "printStream" -> {
                var guard = new java.util.concurrent.locks.ReentrantLock();
                count(guard::lock, () -> { System.out.println("line"); guard.unlock(); });
            }
            case "byteArrayStream" -> {
                ByteArrayOutputStream box = new ByteArrayOutputStream();
                poll(() -> box.write(1), () -> box.size() > 0);
            }
            case "systemProperty" -> poll(() -> System.setProperty("boundary", "1"), () -> System.getProperty("boundary") != null);
            case "fileAppears" -> {
                Path directory = Files.createTempDirectory("boundary"), file = directory.resolve("new");
                poll(() -> io(() -> Files.createFile(file)), () -> Files.exists(file));
                Files.delete(file);
                Files.delete(directory);
            }
            case "classInitialiser" -> {
                both(() -> use(), () -> use());
                seen = 42;
            }
            case "threadLocal" -> {
                ThreadLocal<Item> mine = ThreadLocal.withInitial(Item::new);
                Item common = new Item();
                Runnable work = () -> {
                    Item item = bug ? common : mine.get();
                    for (int i = 0; i < 3; i++) item.value++;
                };
                both(work, work);
                seen = 42;
            }
            case "weakReference" -> {
                Item strong = new Item();
                Reference<?>[] box = new Reference<?>[1];
                pollLocked(() -> box[0] = new WeakReference<>(strong), () -> box[0] != null && box[0].get() != null);
                Reference.reachabilityFence(strong);
            }
            case "supplierChain" -> {
                List<Supplier<Item>> box = new LinkedList<>();
                itemsLocked(item -> box.add(() -> item), () -> box.isEmpty() ? null : box.remove(0).get());
            }
            case "stringJoiner" -> {
                StringJoiner box = new StringJoiner(",");
                pollLocked(() -> box.add("x"), () -> box.length() > 0);
            }
            case "scanner" -> {
                PipedWriter out = new PipedWriter();
                Scanner in = new Scanner(new PipedReader(out));
                pass(() -> io(() -> { out.write("17 \n"); out.flush(); return 0; }), () -> in.nextInt());
            }
            case "process" -> {
                Process process = new ProcessBuilder("cat").start();
                pass(() -> io(() -> { process.getOutputStream().close(); return 0; }), () -> io(process::waitFor));
            }
            case "observer" -> {
                var changes = new java.beans.PropertyChangeSupport(lock);
                changes.addPropertyChangeListener(event -> seen = data);
                Thread thread = new Thread(() -> handOver(() -> changes.firePropertyChange("x", 0, 1)));
                thread.start();
                if (bug) data = 1;
                thread.join();
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
        end(args[1]);
    }

    private static void use() {
        if (bug) {
            if (unsafeTable == null) {
                unsafeTable = new int[1];
                unsafeTable[0] = 42;
            }
            data(unsafeTable[0]);
        } else {
            data(Lazy.TABLE[0]);
        }
    }

    private static void data(int value) {
        if (value < 0) throw new IllegalStateException();
    }

    private static <T> T io(java.util.concurrent.Callable<T> call) {
        try {
            return call.call();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
