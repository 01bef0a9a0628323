import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Journal, corrected: the main thread closes the file when the worker has ended. */
public class JournalFixed {
    private static final Object LOCK = new Object();
    private static BufferedWriter file;

    static void log(String line) throws IOException {
        synchronized (LOCK) {
            file.write(line);
            file.newLine();
        }
    }

    static void work() {
        try {
            log("begin");
            log("end");
        } catch (IOException e) {
            System.out.println("not written: " + e.getMessage());
        }
    }

    public static void main(String[] args) throws Exception {
        Path path = Files.createTempFile("journal", ".txt");
        file = Files.newBufferedWriter(path);
        Thread worker = new Thread(JournalFixed::work);
        worker.start();
        worker.join();
        synchronized (LOCK) {
            file.close();
        }
        System.out.println(Files.readAllLines(path).size() + " lines");
        Files.delete(path);
    }
}
