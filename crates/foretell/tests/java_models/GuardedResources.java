import java.io.*;
import java.nio.file.*;
import java.util.concurrent.*;

/** Resources that are closed when no thread uses them any more. */
public class GuardedResources extends Scenarios {
    @interface MustCall {
        String value();
    }

    @MustCall("close")
    static class Connection implements AutoCloseable {
        private int sent;

        synchronized void send(int n) {
            sent += n;
        }

        synchronized boolean isOpen() {
            return sent >= 0;
        }

        @Override
        public synchronized void close() {
            sent = -1;
        }
    }

    /** Can be opened again. */
    @MustCall("close")
    static class Reusable implements AutoCloseable {
        private boolean open;

        synchronized void open() {
            open = true;
        }

        @Override
        public synchronized void close() {
            open = false;
        }
    }

    public static void main(String[] names) throws Exception {
        run(GuardedResources.class, names);
    }

    static Path file() throws IOException {
        Path path = Files.createTempFile("foretell", ".txt");
        Files.write(path, "1 2 3\n".getBytes());
        path.toFile().deleteOnExit();
        return path;
    }

    static void joinedBeforeTheEnd() throws Exception {
        FileWriter out = new FileWriter(file().toFile());
        Object lock = new Object();
        Body write = () -> {
            synchronized (lock) {
                out.write("a");
            }
        };
        both(write, write);
        out.close();
    }

    static void flagUnderTheLock() throws Exception {
        BufferedWriter out = Files.newBufferedWriter(file());
        boolean[] closed = new boolean[1];
        both(() -> {
            for (int i = 0; i < 3; i++) {
                synchronized (out) {
                    if (!closed[0]) {
                        out.write("a");
                    }
                }
            }
        }, () -> {
            synchronized (out) {
                closed[0] = true;
                out.close();
            }
        });
    }

    static void closedByTheLastUser() throws Exception {
        PrintWriter out = new PrintWriter(file().toFile());
        CountDownLatch done = new CountDownLatch(1);
        both(() -> {
            out.println("a");
            done.countDown();
        }, () -> {
            done.await();
            out.println("b");
            out.close();
        });
    }

    static void pool() throws Exception {
        BufferedWriter out = Files.newBufferedWriter(file());
        ExecutorService pool = Executors.newFixedThreadPool(2);
        for (int i = 0; i < 3; i++) {
            pool.submit(() -> {
                synchronized (out) {
                    out.write("a");
                }
                return null;
            });
        }
        pool.shutdown();
        sink(pool.awaitTermination(10, TimeUnit.SECONDS) ? 1 : 0);
        out.close();
    }

    /** The thread that closes the file learns from it that the other one is done. */
    static void orderThroughAPipe() throws Exception {
        PipedOutputStream send = new PipedOutputStream();
        PipedInputStream receive = new PipedInputStream(send);
        FileWriter out = new FileWriter(file().toFile());
        both(() -> {
            out.write("a");
            send.write(1);
        }, () -> {
            sink(receive.read());
            out.close();
        });
        send.close();
    }

    static void closedTwice() throws Exception {
        FileInputStream in = new FileInputStream(file().toFile());
        both(() -> in.close(), () -> in.close());
    }

    static void memory() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        Object lock = new Object();
        both(() -> {
            synchronized (lock) {
                bytes.write(1);
            }
        }, () -> {
            synchronized (lock) {
                bytes.close();
            }
        });
    }

    static void markedClass() throws Exception {
        Connection connection = new Connection();
        Thread user = start(() -> connection.send(1));
        user.join();
        connection.close();
        Thread asks = start(() -> sink(connection.isOpen() ? 1 : 0));
        asks.join();
    }

    static void openedAgain() throws Exception {
        Reusable line = new Reusable();
        both(() -> line.open(), () -> {
            line.close();
            line.open();
        });
    }
}
