import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Lines are written and the file is closed under one lock, so that nothing races. But the main
 * thread closes the file when it believes the worker to be done.
 */
public class Journal {
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
        Thread worker = new Thread(Journal::work);
        worker.start();
        Thread.sleep(20); // Long enough for the worker, mostly.
        synchronized (LOCK) {
            file.close();
        }
        worker.join();
        System.out.println(Files.readAllLines(path).size() + " lines");
        Files.delete(path);
    }
}
