import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.*;

/**
 * Virtual threads, by reflection: the compiler may be older than they are. Arguments: what to run,
 * and `racy` for the twin without synchronisation.
 */
public class Virtual {
    static int x;
    static boolean racy;

    static Thread start(Runnable r) throws Exception {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, r);
    }

    static ExecutorService executor() throws Exception {
        return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }

    static void add() {
        if (racy) { x++; return; }
        synchronized (Virtual.class) { x++; }
    }

    public static void main(String[] a) throws Exception {
        racy = a.length > 1;
        switch (a[0]) {
            case "threads": {
                List<Thread> all = new ArrayList<>();
                for (int i = 0; i < 4; i++) all.add(start(Virtual::add));
                for (Thread t : all) t.join();
                System.out.println(all.get(0).isDaemon() + " " + x);
                break;
            }
            case "executor": {
                ExecutorService e = executor();
                for (int i = 0; i < 4; i++) e.submit(Virtual::add);
                e.shutdown();
                e.awaitTermination(1, TimeUnit.MINUTES);
                System.out.println(x);
                break;
            }
            case "waits": {
                CountDownLatch go = new CountDownLatch(1);
                Object m = new Object();
                boolean[] ready = new boolean[1];
                Thread w = start(() -> {
                    try {
                        go.await();
                        synchronized (m) { while (!ready[0]) m.wait(); }
                        Thread.sleep(5);
                    } catch (InterruptedException e) { }
                    x++;
                });
                x++;
                go.countDown();
                synchronized (m) { ready[0] = true; m.notifyAll(); }
                w.join();
                System.out.println(x);
                break;
            }
            default: {
                List<Thread> all = new ArrayList<>();
                for (int i = 0; i < 1000; i++) all.add(start(Virtual::add));
                for (Thread t : all) t.join();
                System.out.println(x);
            }
        }
    }
}
