import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;

/** Executors, futures, fork and join, parallel streams, timers. */
public class Tasks extends Handover {
    private Tasks() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("submitGet", Tasks::submitGet)
            .run("executorTyped", Tasks::executorTyped)
            .run("isDone", Tasks::isDone)
            .run("awaitTermination", Tasks::awaitTermination)
            .run("isTerminated", Tasks::isTerminated)
            .run("invokeAll", Tasks::invokeAll)
            .run("invokeAny", Tasks::invokeAny)
            .run("completionService", Tasks::completionService)
            .run("futureTask", Tasks::futureTask)
            .run("scheduled", Tasks::scheduled)
            .run("forkJoinInvoke", Tasks::forkJoinInvoke)
            .run("forkJoinSubtasks", Tasks::forkJoinSubtasks)
            .run("completableGet", Tasks::completableGet)
            .run("completableThenApply", Tasks::completableThenApply)
            .run("completableComplete", Tasks::completableComplete)
            .run("completableAllOf", Tasks::completableAllOf)
            .run("completableIsDone", Tasks::completableIsDone)
            .run("futureTyped", Tasks::futureTyped)
            .run("parallelStream", Tasks::parallelStream)
            .run("parallelSum", Tasks::parallelSum)
            .run("timer", Tasks::timer)
            .run("threadFactory", Tasks::threadFactory)
            .run("ownExecutor", Tasks::ownExecutor)
            .run("queueOfTasks", Tasks::queueOfTasks)
            .run("publisher", Tasks::publisher);
    }

    /** A task that uses a box. */
    static final class Task extends RecursiveAction {
        private final Box box;

        Task(Box box) {
            this.box = box;
        }

        @Override
        protected void compute() {
            box.use();
        }
    }

    /** A task with two subtasks. */
    static final class Pair extends RecursiveAction {
        private final Box one;
        private final Box two;
        private final boolean late;

        Pair(Box one, Box two, boolean late) {
            this.one = one;
            this.two = two;
            this.late = late;
        }

        @Override
        protected void compute() {
            Task forked = new Task(one);
            forked.fork();
            if (late) {
                one.value = 7;
            }
            new Task(two).invoke();
            forked.join();
            one.use();
        }
    }

    static void submitGet(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Box box = new Box();
        Future<?> done = pool.submit(() -> box.value = 1);
        if (late) {
            box.value = 7;
        }
        done.get();
        box.use();
        pool.shutdown();
    }

    static void executorTyped(boolean late) throws Exception {
        ExecutorService service = Executors.newSingleThreadExecutor();
        Executor pool = service;
        Box box = new Box();
        CountDownLatch done = new CountDownLatch(1);
        pool.execute(() -> {
            box.value = 1;
            done.countDown();
        });
        if (late) {
            box.value = 7;
        }
        done.await();
        box.use();
        service.shutdown();
    }

    static void isDone(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Box box = new Box();
        Future<?> done = pool.submit(() -> box.value = 1);
        if (late) {
            box.value = 7;
        }
        while (!done.isDone()) {
            Thread.yield();
        }
        box.use();
        pool.shutdown();
    }

    static void awaitTermination(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Box box = new Box();
        pool.execute(() -> box.value = 1);
        if (late) {
            box.value = 7;
        }
        pool.shutdown();
        pool.awaitTermination(10, TimeUnit.SECONDS);
        box.use();
    }

    static void isTerminated(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Box box = new Box();
        pool.execute(() -> box.value = 1);
        if (late) {
            box.value = 7;
        }
        pool.shutdown();
        while (!pool.isTerminated()) {
            Thread.yield();
        }
        box.use();
    }

    static void invokeAll(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Box box = new Box();
        Box other = new Box();
        pool.invokeAll(Arrays.asList(() -> {
            box.use();
            if (late) {
                other.value = 7;
            }
            return null;
        }, () -> {
            other.use();
            return null;
        }));
        box.use();
        other.use();
        pool.shutdown();
    }

    static void invokeAny(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        Box box = new Box();
        Box other = new Box();
        Callable<Box> fill = () -> {
            box.value = 1;
            return box;
        };
        pool.invokeAny(Collections.singletonList(fill)).use();
        pool.submit(() -> other.value = 2);
        if (late) {
            other.value = 7;
        }
        pool.shutdown();
    }

    static void completionService(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        CompletionService<Box> service = new ExecutorCompletionService<>(pool);
        Box box = new Box();
        service.submit(() -> {
            box.value = 1;
            return box;
        });
        if (late) {
            box.value = 7;
        }
        service.take().get().use();
        pool.shutdown();
    }

    static void futureTask(boolean late) throws Exception {
        Box box = new Box();
        FutureTask<Box> task = new FutureTask<>(() -> {
            box.value = 1;
            return box;
        });
        Thread thread = new Thread(task);
        thread.start();
        if (late) {
            box.value = 7;
        }
        task.get().use();
        thread.join();
    }

    static void scheduled(boolean late) throws Exception {
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(1);
        Box box = new Box();
        ScheduledFuture<?> done = pool.schedule(() -> {
            box.value = 1;
        }, 1, TimeUnit.MILLISECONDS);
        if (late) {
            box.value = 7;
        }
        done.get();
        box.use();
        pool.shutdown();
    }

    static void forkJoinInvoke(boolean late) throws Exception {
        ForkJoinPool pool = new ForkJoinPool(2);
        Box box = new Box();
        Box other = new Box();
        pool.invoke(new Task(box));
        box.use();
        ForkJoinTask<?> task = pool.submit(new Task(other));
        if (late) {
            other.value = 7;
        }
        task.join();
        pool.shutdown();
    }

    static void forkJoinSubtasks(boolean late) throws Exception {
        ForkJoinPool pool = new ForkJoinPool(2);
        Box box = new Box();
        Box other = new Box();
        pool.invoke(new Pair(box, other, late));
        box.use();
        other.use();
        pool.shutdown();
    }

    static void completableGet(boolean late) throws Exception {
        Box box = new Box();
        CompletableFuture<Box> future = CompletableFuture.supplyAsync(() -> {
            box.value = 1;
            return box;
        });
        if (late) {
            box.value = 7;
        }
        future.get().use();
    }

    static void completableThenApply(boolean late) throws Exception {
        Box box = new Box();
        CompletableFuture<Box> future = CompletableFuture.supplyAsync(() -> {
            box.value = 1;
            return box;
        }).thenApplyAsync(done -> {
            done.use();
            return done;
        });
        if (late) {
            box.value = 7;
        }
        future.join().use();
    }

    static void completableComplete(boolean late) throws Exception {
        CompletableFuture<Box> future = new CompletableFuture<>();
        both(() -> {
            Box b = Box.full();
            future.complete(b);
            if (late) {
                b.value = 7;
            }
        }, () -> future.get().use());
    }

    static void completableAllOf(boolean late) throws Exception {
        Box box = new Box();
        Box other = new Box();
        CompletableFuture<Void> all = CompletableFuture.allOf(CompletableFuture.runAsync(box::use),
            CompletableFuture.runAsync(other::use));
        if (late) {
            box.value = 7;
        }
        all.join();
        box.use();
        other.use();
    }

    static void completableIsDone(boolean late) throws Exception {
        CompletableFuture<Box> future = new CompletableFuture<>();
        both(() -> {
            Box b = Box.full();
            future.complete(b);
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> future.isDone() ? future.getNow(null) : null));
    }

    static void futureTyped(boolean late) throws Exception {
        CompletableFuture<Box> source = new CompletableFuture<>();
        Future<Box> future = source;
        both(() -> {
            Box b = Box.full();
            source.complete(b);
            if (late) {
                b.value = 7;
            }
        }, () -> future.get().use());
    }

    static void parallelStream(boolean late) throws Exception {
        Box[] boxes = new Box[50];
        IntStream.range(0, 50).parallel().forEach(i -> boxes[i] = Box.full());
        for (Box box : boxes) {
            box.use();
        }
        Box box = new Box();
        both(() -> {
            if (late) {
                box.value = 7;
            }
        }, () -> {
            if (late) {
                box.value = 7;
            }
        });
    }

    static void parallelSum(boolean late) throws Exception {
        Box[] boxes = new Box[50];
        Arrays.setAll(boxes, i -> Box.full());
        int sum = Arrays.stream(boxes).parallel().mapToInt(box -> box.value).sum();
        if (sum != 50) {
            throw new IllegalStateException("sum " + sum);
        }
        Box box = new Box();
        both(() -> {
            if (late) {
                box.value = 7;
            }
        }, () -> {
            if (late) {
                box.value = 7;
            }
        });
    }

    static void timer(boolean late) throws Exception {
        Timer timer = new Timer();
        CountDownLatch done = new CountDownLatch(1);
        Box box = new Box();
        box.value = 1;
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                box.use();
                done.countDown();
            }
        }, 1);
        if (late) {
            box.value = 7;
        }
        done.await();
        box.use();
        timer.cancel();
    }

    static void threadFactory(boolean late) throws Exception {
        ExecutorService pool = Executors.newCachedThreadPool(Thread::new);
        Box box = new Box();
        Future<Box> future = pool.submit(() -> {
            box.value = 1;
            return box;
        });
        if (late) {
            box.value = 7;
        }
        future.get().use();
        pool.shutdown();
    }

    static void ownExecutor(boolean late) throws Exception {
        Box box = new Box();
        Executor direct = Runnable::run;
        both(() -> direct.execute(() -> {
            synchronized (box) {
                box.use();
            }
            if (late) {
                box.value = 7;
            }
        }), () -> direct.execute(() -> {
            synchronized (box) {
                box.use();
            }
        }));
    }

    static void queueOfTasks(boolean late) throws Exception {
        LinkedList<Runnable> tasks = new LinkedList<>();
        Box box = new Box();
        both(() -> {
            box.value = 1;
            synchronized (tasks) {
                tasks.add(box::use);
                tasks.notifyAll();
            }
            if (late) {
                box.value = 7;
            }
        }, () -> {
            Runnable task;
            synchronized (tasks) {
                while (tasks.isEmpty()) {
                    tasks.wait();
                }
                task = tasks.removeFirst();
            }
            task.run();
        });
    }

    static void publisher(boolean late) throws Exception {
        Box box = new Box();
        CountDownLatch done = new CountDownLatch(1);
        try (SubmissionPublisher<Box> publisher = new SubmissionPublisher<>()) {
            publisher.consume(taken -> {
                taken.use();
                done.countDown();
            });
            box.value = 1;
            publisher.submit(box);
            if (late) {
                box.value = 7;
            }
            done.await();
            box.use();
        }
    }
}
