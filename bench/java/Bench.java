import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/**
 * Benchmark of two threads that do mostly accesses: fields, arrays, calls, locks, new objects.
 * Usage: `Bench KIND N`; standard error gets the processor time of the work.
 */
public class Bench {
    private long total;
    private final int[] row = new int[256];

    private void fields(int n) {
        for (int i = 0; i < n; i++) {
            total += i;
        }
    }

    private void arrays(int n) {
        for (int i = 0; i < n; i++) {
            row[i & 255] += i;
        }
    }

    private void one(int i) {
        total ^= i;
    }

    private void calls(int n) {
        for (int i = 0; i < n; i++) {
            one(i);
        }
    }

    private static int shared;

    private static synchronized void locked() {
        shared++;
    }

    private static void locks(int n) {
        for (int i = 0; i < n; i++) {
            locked();
        }
    }

    private void objects(int n) {
        for (int i = 0; i < n; i++) {
            Bench b = new Bench();
            b.total = i;
            total += b.total;
        }
    }

    private void work(String kind, int n) {
        switch (kind) {
            case "fields": fields(n); break;
            case "arrays": arrays(n); break;
            case "calls": calls(n); break;
            case "locks": locks(n); break;
            case "objects": objects(n); break;
            default: throw new IllegalArgumentException(kind);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int n = Integer.parseInt(args[1]);
        Bench a = new Bench();
        Bench b = new Bench();
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long begin = system.getProcessCpuTime();
        Thread first = new Thread(() -> a.work(args[0], n));
        Thread second = new Thread(() -> b.work(args[0], n));
        first.start();
        second.start();
        first.join();
        second.join();
        System.err.println("cpu " + (system.getProcessCpuTime() - begin) / 1000000);
        System.out.println(a.total + b.total + a.row[7] + b.row[7] + shared);
    }
}
