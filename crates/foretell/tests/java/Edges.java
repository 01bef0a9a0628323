import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/** Correct hand-overs, each through its own edge; with the argument `late`, twins without it. */
public class Edges {
    interface Case { void run() throws Exception; }
    static boolean late;

    static class IsAlive { static int x;
        static void run() throws Exception {
            Thread t = new Thread(() -> x = 1);
            t.start();
            while (!late && t.isAlive()) Thread.yield();
            x = 2;
            t.join();
        } }

    static class State { static int x;
        static void run() throws Exception {
            Thread t = new Thread(() -> x = 1);
            t.start();
            while (!late && t.getState() != Thread.State.TERMINATED) Thread.yield();
            x = 2;
            t.join();
        } }

    static class Interrupt { static int x;
        static void run() throws Exception {
            Thread t = new Thread(() -> {
                while (!late && !Thread.currentThread().isInterrupted()) Thread.yield();
                x = 2;
            });
            t.start();
            x = 1;
            t.interrupt();
            t.join();
        } }

    static class Interrupted { static int x;
        static void run() throws Exception {
            Thread t = new Thread(() -> { while (!late && !Thread.interrupted()) Thread.yield(); x = 2; });
            t.start();
            x = 1;
            t.interrupt();
            t.join();
        } }

    static class Await { static int x;
        static void run() throws Exception {
            ExecutorService e = Executors.newFixedThreadPool(2);
            e.execute(() -> x = 1);
            e.shutdown();
            if (!late) e.awaitTermination(1, TimeUnit.MINUTES);
            x = 2;
        } }

    static class Single { static int x;
        static void run() throws Exception {
            ExecutorService e = Executors.newSingleThreadExecutor();
            e.execute(() -> x = 1);
            e.shutdown();
            while (!late && !e.isTerminated()) Thread.yield();
            x = 2;
        } }

    static class All {
        static void run() throws Exception {
            int[] a = new int[3];
            ExecutorService e = Executors.newFixedThreadPool(2);
            List<Callable<Void>> tasks = new ArrayList<>();
            for (int i = 0; i < 3; i++) { int k = late ? 0 : i; tasks.add(() -> { a[k] = 1; return null; }); }
            e.invokeAll(tasks);
            a[0] = 5;
            e.shutdown();
        } }

    static class Done { static int x;
        static void run() throws Exception {
            ExecutorService e = Executors.newFixedThreadPool(1);
            Future<?> f = e.submit(() -> x = 1);
            while (!late && !f.isDone()) Thread.yield();
            x = 2;
            e.shutdown();
        } }

    static class Completion { static int x;
        static void run() throws Exception {
            ExecutorService e = Executors.newFixedThreadPool(1);
            CompletionService<Integer> s = new ExecutorCompletionService<>(e);
            s.submit(() -> x = 1);
            if (!late) s.take();
            x = 2;
            e.shutdown();
        } }

    static class Fork { static int x;
        static void run() throws Exception {
            ForkJoinPool p = new ForkJoinPool(2);
            RecursiveAction a = new RecursiveAction() { protected void compute() { x = 1; } };
            if (late) p.execute(a); else p.invoke(a);
            x = 2;
            p.shutdown();
        } }

    static class Barrier { static int sum;
        static void run() throws Exception {
            int[] part = new int[2];
            CyclicBarrier b = new CyclicBarrier(2, () -> sum = part[0] + part[1]);
            Runnable r = () -> {
                int k = Thread.currentThread().getName().equals("a") ? 0 : 1;
                if (!late) part[k] = 1;
                try { b.await(); } catch (Exception e) { }
                if (late) sum = k;
                int v = sum;
            };
            Thread a = new Thread(r, "a"), c = new Thread(r, "c");
            a.start(); c.start(); a.join(); c.join();
        } }

    static class Counting extends ReentrantLock { int n;
        @Override public void lock() { if (late) n++; super.lock(); if (!late) n++; }
        @Override public boolean tryLock() { return super.tryLock(); }
        @Override public void unlock() { super.unlock(); }
        static void run() throws Exception {
            Counting l = new Counting();
            Runnable r = () -> { l.lock(); l.unlock(); };
            Thread p = new Thread(r), c = new Thread(r);
            p.start(); c.start(); p.join(); c.join();
        } }

    static class Gate extends Semaphore { int n;
        Gate() { super(1); }
        @Override public void acquire() throws InterruptedException { if (late) n++; super.acquire(); if (!late) n++; }
        @Override public void release() { super.release(); }
        static void run() throws Exception {
            Gate g = new Gate();
            Runnable r = () -> { try { g.acquire(); } catch (InterruptedException e) { } g.release(); };
            Thread p = new Thread(r), c = new Thread(r);
            p.start(); c.start(); p.join(); c.join();
        } }

    static class Views { static int x;
        static void run() throws Exception {
            ReentrantReadWriteLock l = new ReentrantReadWriteLock();
            Lock read = l.readLock(), write = l.writeLock();
            Thread w = new Thread(() -> { write.lock(); x = 1; write.unlock(); });
            Thread r = new Thread(() -> { if (!late) read.lock(); int v = x; if (!late) read.unlock(); });
            w.start(); r.start(); w.join(); r.join();
        } }

    public static void main(String[] a) throws Exception {
        late = a.length > 0;
        Case[] cases = {IsAlive::run, State::run, Interrupt::run, Interrupted::run, Await::run, Single::run,
            All::run, Done::run, Completion::run, Fork::run, Barrier::run, Counting::run, Gate::run, Views::run};
        for (Case c : cases) c.run();
        System.out.println("end");
    }
}
