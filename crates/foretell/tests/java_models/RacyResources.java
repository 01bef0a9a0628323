import java.io.*;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.*;
import java.util.Scanner;
import java.util.concurrent.locks.*;

/** Resources that a thread closes before another one has done with them. */
public class RacyResources extends Scenarios {
    @interface MustCall {
        String value();
    }

    public static void main(String[] names) throws Exception {
        run(RacyResources.class, names);
    }

    static Path file() throws IOException {
        Path path = Files.createTempFile("foretell", ".txt");
        Files.write(path, "1 2 3\n".getBytes());
        path.toFile().deleteOnExit();
        return path;
    }

    static void writerWithoutLock() throws Exception {
        FileWriter out = new FileWriter(file().toFile());
        both(() -> {
            out.write("a");
            out.write("b");
        }, () -> out.close());
    }

    static void writerUnderALock() throws Exception {
        BufferedWriter out = Files.newBufferedWriter(file());
        Object lock = new Object();
        both(() -> {
            synchronized (lock) {
                out.write("a");
            }
        }, () -> {
            synchronized (lock) {
                out.close();
            }
        });
    }

    static void channel() throws Exception {
        FileChannel channel = FileChannel.open(file(), StandardOpenOption.READ);
        Lock lock = new ReentrantLock();
        both(() -> {
            lock.lock();
            try {
                sink(channel.read(ByteBuffer.allocate(4)));
            } finally {
                lock.unlock();
            }
        }, () -> {
            lock.lock();
            try {
                channel.close();
            } finally {
                lock.unlock();
            }
        });
    }

    static void randomAccessFile() throws Exception {
        RandomAccessFile data = new RandomAccessFile(file().toFile(), "r");
        both(() -> sink(data.read()), () -> data.close());
    }

    static void scanner() throws Exception {
        Scanner scanner = new Scanner(file());
        Object lock = new Object();
        both(() -> {
            synchronized (lock) {
                sink(scanner.nextInt());
            }
        }, () -> {
            synchronized (lock) {
                scanner.close();
            }
        });
    }

    static void markedClass() throws Exception {
        @MustCall("close")
        class Connection implements AutoCloseable {
            private boolean open = true;

            synchronized void send(int n) {
                if (!open) {
                    throw new IllegalStateException("closed");
                }
                sink(n);
            }

            @Override
            public synchronized void close() {
                open = false;
            }
        }

        Connection connection = new Connection();
        both(() -> {
            connection.send(1);
            connection.send(2);
        }, () -> connection.close());
    }
}
