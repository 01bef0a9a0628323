import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

/** Pools, fork and join, timers, parallel streams. */
class Pools extends MoreTasks {
    static void recursiveTask(boolean late) throws Exception {
        class Sum extends RecursiveTask<Box> {
            private final int depth;

            Sum(int depth) {
                this.depth = depth;
            }

            @Override
            protected Box compute() {
                Box b = Box.full();
                if (depth > 0) {
                    Sum left = new Sum(depth - 1);
                    left.fork();
                    Box right = new Sum(depth - 1).compute();
                    Box other = left.join();
                    other.use();
                    right.use();
                    b.value += other.value + right.value;
                }
                return b;
            }
        }
        new ForkJoinPool(2).invoke(new Sum(3)).use();
    }

    static void recursiveAction(boolean late) throws Exception {
        int[] data = new int[8];
        class Fill extends RecursiveAction {
            private final int from;
            private final int to;

            Fill(int from, int to) {
                this.from = from;
                this.to = to;
            }

            @Override
            protected void compute() {
                if (to - from == 1) {
                    data[from]++;
                } else {
                    int middle = (from + to) / 2;
                    invokeAll(new Fill(from, middle), new Fill(middle, to));
                }
            }
        }
        ForkJoinPool pool = new ForkJoinPool(2);
        pool.submit(new Fill(0, 8)).get();
        data[0]++;
        pool.shutdown();
    }

    static void countedCompleter(boolean late) throws Exception {
        Box[] boxes = {new Box(), new Box()};
        class Part extends CountedCompleter<Void> {
            private final int index;

            Part(CountedCompleter<?> parent, int index) {
                super(parent);
                this.index = index;
            }

            @Override
            public void compute() {
                if (index < 0) {
                    setPendingCount(2);
                    new Part(this, 0).fork();
                    new Part(this, 1).fork();
                } else {
                    boxes[index].value = 1;
                }
                tryComplete();
            }

            @Override
            public void onCompletion(CountedCompleter<?> caller) {
                if (index < 0) {
                    boxes[0].use();
                    boxes[1].use();
                }
            }
        }
        new Part(null, -1).invoke();
        boxes[0].use();
    }

    static void commonPoolQuiescence(boolean late) throws Exception {
        Box b = new Box();
        ForkJoinPool pool = new ForkJoinPool(2);
        pool.execute(() -> b.value = 1);
        pool.awaitQuiescence(1, TimeUnit.MINUTES);
        b.use();
        pool.shutdown();
    }

    static void isQuiescent(boolean late) throws Exception {
        Box b = new Box();
        ForkJoinPool pool = new ForkJoinPool(2);
        ForkJoinTask<?> task = pool.submit(() -> {
            b.value = 1;
        });
        until(pool::isQuiescent);
        if (task.isCompletedNormally()) {
            b.use();
        }
        pool.shutdown();
    }

    static void managedBlocker(boolean late) throws Exception {
        Box b = new Box();
        BlockingQueue<String> q = new LinkedBlockingQueue<>();
        ForkJoinPool pool = new ForkJoinPool(1);
        ForkJoinTask<?> task = pool.submit(() -> {
            try {
                ForkJoinPool.managedBlock(new ForkJoinPool.ManagedBlocker() {
                    private String got;

                    @Override
                    public boolean block() throws InterruptedException {
                        got = q.take();
                        return true;
                    }

                    @Override
                    public boolean isReleasable() {
                        return got != null;
                    }
                });
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            b.use();
        });
        b.value = 1;
        q.put("go");
        if (late) {
            b.value = 7;
        }
        task.join();
        pool.shutdown();
    }

    static void invokeAnyResult(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try {
            Box b = pool.invokeAny(List.of(Box::full, Box::full));
            b.use();
        } finally {
            pool.shutdown();
            pool.awaitTermination(1, TimeUnit.MINUTES);
        }
    }

    static void completionServicePoll(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try {
            CompletionService<Box> service = new ExecutorCompletionService<>(pool);
            service.submit(Box::full);
            Future<Box> f = service.poll();
            while (f == null) {
                Thread.yield();
                f = service.poll();
            }
            f.get().use();
        } finally {
            pool.shutdown();
            pool.awaitTermination(1, TimeUnit.MINUTES);
        }
    }

    static void getTimed(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try {
            Box b = new Box();
            Future<?> f = pool.submit(() -> {
                b.value = 1;
            });
            boolean done = false;
            while (!done) {
                try {
                    f.get(1, TimeUnit.MILLISECONDS);
                    done = true;
                } catch (TimeoutException e) {
                    Thread.yield();
                }
            }
            b.use();
        } finally {
            pool.shutdown();
            pool.awaitTermination(1, TimeUnit.MINUTES);
        }
    }

    static void executionException(boolean late) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        try {
            Box b = new Box();
            Future<?> f = pool.submit(() -> {
                b.value = 1;
                throw new IllegalStateException();
            });
            try {
                f.get();
            } catch (ExecutionException e) {
                b.use();
            }
        } finally {
            pool.shutdown();
            pool.awaitTermination(1, TimeUnit.MINUTES);
        }
    }

    static void completedTaskCount(boolean late) throws Exception {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS,
            new LinkedBlockingQueue<>());
        Box b = new Box();
        pool.execute(() -> b.value = 1);
        until(() -> pool.getCompletedTaskCount() == 1);
        b.use();
        pool.shutdown();
    }

    static void afterExecute(boolean late) throws Exception {
        Box b = new Box();
        CountDownLatch done = new CountDownLatch(1);
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS,
            new SynchronousQueue<>()) {
            @Override
            protected void afterExecute(Runnable task, Throwable e) {
                b.use();
                done.countDown();
            }
        };
        pool.execute(() -> b.value = 1);
        done.await();
        b.use();
        pool.shutdown();
    }

    static void terminatedHook(boolean late) throws Exception {
        Box b = new Box();
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS,
            new LinkedBlockingQueue<>()) {
            @Override
            protected void terminated() {
                b.use();
            }
        };
        pool.execute(() -> b.value = 1);
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        b.use();
    }

    static void rejected(boolean late) throws Exception {
        Box b = new Box();
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(), (task, executor) -> b.use());
        pool.shutdown();
        pool.execute(() -> b.value = 9);
        b.use();
    }

    static void callerRuns(boolean late) throws Exception {
        Box b = new Box();
        Semaphore gate = new Semaphore(0);
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS,
            new SynchronousQueue<>(), new ThreadPoolExecutor.CallerRunsPolicy());
        pool.execute(gate::acquireUninterruptibly);
        pool.execute(() -> b.value = 1);
        b.use();
        gate.release();
        pool.shutdown();
    }

    static void shutdownNowTasks(boolean late) throws Exception {
        Box b = new Box();
        Semaphore gate = new Semaphore(0);
        ThreadPoolExecutor pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS,
            new LinkedBlockingQueue<>());
        pool.execute(gate::acquireUninterruptibly);
        pool.execute(b::use);
        for (Runnable left : pool.shutdownNow()) {
            left.run();
        }
        b.use();
        gate.release();
        pool.awaitTermination(1, TimeUnit.MINUTES);
    }

    static void prestarted(boolean late) throws Exception {
        Box b = new Box();
        ThreadPoolExecutor pool = new ThreadPoolExecutor(2, 2, 1, TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(4));
        pool.prestartAllCoreThreads();
        b.value = 1;
        Future<?> f = pool.submit(b::use);
        f.get();
        b.use();
        pool.shutdown();
    }

    static void singleThreadOrder(boolean late) throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        Box b = new Box();
        pool.execute(b::use);
        pool.execute(b::use);
        pool.submit(b::use).get();
        b.use();
        pool.shutdown();
    }

    static void cachedPool(boolean late) throws Exception {
        ExecutorService pool = Executors.newCachedThreadPool();
        Box b = new Box();
        pool.submit(b::use).get();
        pool.submit(b::use).get();
        b.use();
        pool.shutdown();
    }

    static void workStealing(boolean late) throws Exception {
        ExecutorService pool = Executors.newWorkStealingPool(2);
        Box b = new Box();
        pool.submit(b::use).get();
        b.use();
        pool.shutdown();
    }

    static void scheduledDelay(boolean late) throws Exception {
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(1);
        Box b = Box.full();
        ScheduledFuture<Integer> f = pool.schedule(() -> {
            b.use();
            return 1;
        }, 1, TimeUnit.MILLISECONDS);
        f.get();
        b.use();
        pool.shutdownNow();
    }

    static void scheduledRate(boolean late) throws Exception {
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(2);
        Box b = new Box();
        CountDownLatch three = new CountDownLatch(3);
        ScheduledFuture<?> f = pool.scheduleAtFixedRate(() -> {
            b.use();
            three.countDown();
        }, 0, 1, TimeUnit.MILLISECONDS);
        three.await();
        f.cancel(false);
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        b.use();
    }

    static void timerTwice(boolean late) throws Exception {
        Timer timer = new Timer(true);
        Box b = new Box();
        CountDownLatch done = new CountDownLatch(2);
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                b.use();
                done.countDown();
            }
        }, 0, 1);
        done.await();
        timer.cancel();
    }

    static void parallelForEach(boolean late) throws Exception {
        Box[] boxes = new Box[16];
        IntStream.range(0, 16).parallel().forEach(i -> boxes[i] = Box.full());
        for (Box b : boxes) {
            b.use();
        }
    }

    static void parallelCollect(boolean late) throws Exception {
        List<Box> boxes = IntStream.range(0, 16).parallel().mapToObj(i -> Box.full())
            .collect(Collectors.toList());
        boxes.forEach(Box::use);
    }

    static void parallelReduce(boolean late) throws Exception {
        Box b = IntStream.range(0, 16).parallel().mapToObj(i -> Box.full()).reduce(new Box(), (x,
            y) -> {
            Box sum = new Box();
            sum.value = x.value + y.value;
            return sum;
        });
        b.use();
    }

    static void parallelSetAll(boolean late) throws Exception {
        Box[] boxes = new Box[16];
        Arrays.parallelSetAll(boxes, i -> Box.full());
        boxes[3].use();
    }

    static void parallelSort(boolean late) throws Exception {
        Box[] boxes = new Box[64];
        Arrays.setAll(boxes, i -> Box.full());
        Arrays.parallelSort(boxes, (x, y) -> Integer.compare(x.value, y.value));
        boxes[3].use();
    }

    static void parallelGrouping(boolean late) throws Exception {
        Map<Integer, List<Box>> groups = IntStream.range(0, 16).parallel().mapToObj(i ->
            Box.full()).collect(Collectors.groupingByConcurrent(b -> b.value));
        groups.get(1).forEach(Box::use);
    }

    static void futureTaskDone(boolean late) throws Exception {
        Box b = new Box();
        FutureTask<Integer> task = new FutureTask<>(() -> {
            b.value = 1;
            return 1;
        }) {
            @Override
            protected void done() {
                b.use();
            }
        };
        start(task::run);
        task.get();
        Thread.yield();
    }

    static void memoizer(boolean late) throws Exception {
        ConcurrentMap<String, Future<Box>> cache = new ConcurrentHashMap<>();
        Act ask = () -> {
            FutureTask<Box> task = new FutureTask<>(Box::full);
            Future<Box> known = cache.putIfAbsent("k", task);
            if (known == null) {
                task.run();
                known = task;
            }
            synchronized (cache) {
                known.get().use();
            }
        };
        both(ask, ask);
    }

    static void flowSubmission(boolean late) throws Exception {
        Box b = new Box();
        CountDownLatch done = new CountDownLatch(1);
        try (SubmissionPublisher<Box> publisher = new SubmissionPublisher<>()) {
            publisher.consume(Box::use).thenRun(done::countDown);
            b.value = 1;
            publisher.submit(b);
        }
        done.await();
        b.use();
    }
}
