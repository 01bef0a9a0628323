import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;

/** Executors, tasks and threads. */
final class Running extends Scenario {
    public static void main(String[] args) throws Exception {
        bug = args[1].equals("bug");
        switch (args[0]) {
            case "submitAndGet" -> pool(pool -> {
                data = 41;
                Future<?> result = pool.submit(() -> { seen = data + 1; });
                if (bug) data = 40;
                result.get();
            });
            case "invokeAll" -> pool(pool -> {
                int[] parts = new int[2];
                pool.invokeAll(List.of(() -> parts[0] = write(20), () -> parts[1] = write(22)));
                seen = parts[0] + parts[1];
            });
            case "awaitTermination" -> {
                ExecutorService pool = Executors.newFixedThreadPool(2);
                pool.execute(() -> data = 42);
                pool.shutdown();
                if (!bug) pool.awaitTermination(1, TimeUnit.MINUTES);
                seen = data;
            }
            case "isTerminated" -> {
                ExecutorService pool = Executors.newSingleThreadExecutor();
                pool.execute(() -> data = 42);
                pool.shutdown();
                while (!bug && !pool.isTerminated()) Thread.yield();
                seen = data;
            }
            case "isDone" -> pool(pool -> {
                Future<?> result = pool.submit(() -> { data = 42; });
                while (!bug && !result.isDone()) Thread.yield();
                seen = data;
            });
            case "completableFuture" -> {
                CompletableFuture<Integer> result = CompletableFuture.supplyAsync(() -> { data = 42; return 1; });
                if (bug) seen = data;
                result.thenApply(n -> n + 1).join();
                seen = data;
            }
            case "complete" -> {
                CompletableFuture<String> result = new CompletableFuture<>();
                pass(() -> result.complete("x"), result::join);
            }
            case "thenAccept" -> {
                CompletableFuture<String> result = new CompletableFuture<>();
                CompletableFuture<Void> after = result.thenAccept(text -> seen = data);
                Thread thread = new Thread(() -> handOver(() -> result.complete("x")));
                thread.start();
                after.join();
                if (bug) seen = data;
                thread.join();
            }
            case "forkJoin" -> {
                int[] array = IntStream.range(0, 64).toArray();
                seen = new ForkJoinPool(2).invoke(new Sum(array, 0, 64));
            }
            case "parallelStream" -> {
                int[] squares = new int[32];
                IntStream.range(0, 32).parallel().forEach(i -> { squares[i] = i; if (bug) data++; });
                seen = Arrays.stream(squares).sum();
            }
            case "scheduled" -> {
                ScheduledExecutorService pool = Executors.newScheduledThreadPool(1);
                ScheduledFuture<?> result = pool.schedule(() -> { data = 42; }, 1, TimeUnit.MILLISECONDS);
                if (!bug) result.get();
                seen = data;
                pool.shutdown();
            }
            case "timer" -> {
                Timer timer = new Timer(true);
                CountDownLatch fired = new CountDownLatch(1);
                data = 41;
                timer.schedule(new TimerTask() {
                    @Override public void run() { seen = data + 1; fired.countDown(); }
                }, 1);
                if (bug) data = 40;
                fired.await();
            }
            case "completionService" -> pool(pool -> {
                CompletionService<Integer> service = new ExecutorCompletionService<>(pool);
                service.submit(() -> write(20));
                service.submit(() -> write(22));
                seen = service.take().get() + service.take().get();
            });
            case "futureTask" -> {
                FutureTask<Integer> task = new FutureTask<>(() -> data = 42);
                Thread thread = new Thread(task);
                thread.start();
                if (!bug) task.get();
                seen = data;
                thread.join();
            }
            case "isAlive" -> {
                Thread thread = new Thread(() -> data = 42);
                thread.start();
                while (!bug && thread.isAlive()) Thread.yield();
                seen = data;
            }
            case "getState" -> {
                Thread thread = new Thread(() -> data = 42);
                thread.start();
                while (!bug && thread.getState() != Thread.State.TERMINATED) Thread.yield();
                seen = data;
            }
            case "isInterrupted" -> {
                Thread thread = new Thread(() -> {
                    while (!Thread.currentThread().isInterrupted()) Thread.yield();
                    seen = data;
                });
                thread.start();
                handOver(thread::interrupt);
                thread.join();
            }
            case "interruptedWait" -> {
                Thread thread = new Thread(() -> {
                    try {
                        synchronized (lock) {
                            while (true) lock.wait();
                        }
                    } catch (InterruptedException e) {
                        seen = data;
                    }
                });
                thread.start();
                handOver(thread::interrupt);
                thread.join();
            }
            case "timedJoin" -> {
                Thread thread = new Thread(() -> data = 42);
                thread.start();
                while (!bug && thread.isAlive()) thread.join(10);
                seen = data;
            }
            case "uncaught" -> {
                Thread thread = new Thread(() -> { data = 42; throw new IllegalStateException("expected"); });
                thread.setUncaughtExceptionHandler((t, e) -> seen = data);
                thread.start();
                if (bug) data = 1;
                thread.join();
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
        end(args[1]);
    }

    interface Body { void run(ExecutorService pool) throws Exception; }

    private static void pool(Body body) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        body.run(pool);
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
    }

    private static int write(int value) {
        if (bug) data += value;
        return value;
    }

    static final class Sum extends RecursiveTask<Integer> {
        private static final long serialVersionUID = 1;
        private final int[] array;
        private final int from, to;

        Sum(int[] array, int from, int to) {
            this.array = array;
            this.from = from;
            this.to = to;
        }

        @Override protected Integer compute() {
            if (to - from <= 16) {
                int sum = 0;
                for (int i = from; i < to; i++) sum += array[i];
                if (bug) data += sum;
                return sum;
            }
            Sum left = new Sum(array, from, (from + to) / 2);
            left.fork();
            return new Sum(array, (from + to) / 2, to).compute() + left.join();
        }
    }
}
