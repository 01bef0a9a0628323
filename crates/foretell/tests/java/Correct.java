import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
/** Every class of java.util.concurrent that is modelled, used as it should be. */
public class Correct {
    static int a, b, c, d, e, f, g, h;
    static int[] arr = new int[100];
    static final ReentrantLock lock = new ReentrantLock();
    static final Condition cond = lock.newCondition();
    static final ReentrantReadWriteLock rw = new ReentrantReadWriteLock();
    static boolean flag;
    static Thread go(Runnable r) { Thread t = new Thread(r); t.start(); return t; }
    public static void main(String[] args) throws Exception {
        List<Thread> ts = new ArrayList<>();
        for (int i = 0; i < 2; i++) ts.add(go(() -> { lock.lock(); try { lock.lock(); a++; lock.unlock(); } finally { lock.unlock(); } }));
        ts.add(go(() -> { lock.lock(); try { while (!flag) cond.await(); b++; } catch (InterruptedException x) {} finally { lock.unlock(); } }));
        ts.add(go(() -> { lock.lock(); b = 5; flag = true; cond.signalAll(); lock.unlock(); }));
        ts.add(go(() -> { rw.writeLock().lock(); c++; rw.writeLock().unlock(); }));
        ts.add(go(() -> { rw.readLock().lock(); int x = c; rw.readLock().unlock(); }));
        Semaphore s = new Semaphore(1); 
        for (int i = 0; i < 2; i++) ts.add(go(() -> { s.acquireUninterruptibly(); d++; s.release(); }));
        CountDownLatch latch = new CountDownLatch(2);
        for (int i = 0; i < 2; i++) { int k = i; ts.add(go(() -> { arr[k] = k; latch.countDown(); })); }
        latch.await(); e = arr[0] + arr[1];
        CyclicBarrier bar = new CyclicBarrier(2);
        for (int i = 0; i < 2; i++) { int k = i; ts.add(go(() -> { try { arr[10 + k] = 1; bar.await(); int z = arr[10 + (1 - k)]; } catch (Exception x) { throw new RuntimeException(x); } })); }
        AtomicInteger ai = new AtomicInteger();
        for (int i = 0; i < 2; i++) ts.add(go(() -> { ai.incrementAndGet(); ai.updateAndGet(v -> v * 2); }));
        ExecutorService ex = Executors.newFixedThreadPool(2);
        f = 1;
        Future<Integer> fut = ex.submit(() -> { f++; return f; });
        int got = fut.get(); f++;
        ex.execute(() -> { g = f; });
        ex.shutdown(); ex.awaitTermination(10, TimeUnit.SECONDS);
        BlockingQueue<int[]> q = new LinkedBlockingQueue<>();
        ts.add(go(() -> { for (int i = 0; i < 3; i++) { int[] m = { i }; q.add(m); } }));
        ts.add(go(() -> { try { int sum = 0; for (int i = 0; i < 3; i++) sum += q.take()[0]; System.out.println("sum " + sum); } catch (InterruptedException x) {} }));
        ConcurrentHashMap<String, Integer> m = new ConcurrentHashMap<>();
        for (int i = 0; i < 2; i++) { int k = i; ts.add(go(() -> { m.merge("x", 1, Integer::sum); m.put("y" + k, k); })); }
        CompletableFuture<Integer> cf = CompletableFuture.supplyAsync(() -> { h = 7; return h; }).thenApply(v -> { h++; return v + h; });
        System.out.println("cf " + cf.get() + " " + h);
        Thread parker = go(() -> { LockSupport.park(); h++; });
        h = 20; LockSupport.unpark(parker);
        parker.join();
        for (Thread t : ts) t.join();
        System.out.println(a + " " + b + " " + c + " " + d + " " + e + " " + ai + " " + got + " " + m.size());
        int[] par = new int[1000];
        java.util.stream.IntStream.range(0, 1000).parallel().forEach(i -> par[i] = i);
        long tot = 0; for (int v : par) tot += v; System.out.println(tot);
        Thread sl = go(() -> { try { Thread.sleep(100000); } catch (InterruptedException x) { System.out.println("interrupted"); } });
        sl.interrupt(); sl.join();
    }
}
