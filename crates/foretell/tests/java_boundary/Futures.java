import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;

/** Completable futures and their stages. */
class Futures extends MoreTasks {
    static void thenCombine(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.thenCombine(CompletableFuture.completedFuture(1), (x, y) ->
            x + y);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void anyOf(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = CompletableFuture.anyOf(c, new CompletableFuture<String>());
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.get();
            b.use();
        });
    }

    static void handle(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.handle((x, e) -> x);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void whenComplete(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.whenComplete((x, e) -> Thread.yield());
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void thenCompose(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.thenCompose(x -> CompletableFuture.supplyAsync(() -> x + 1));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void thenAcceptBoth(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.thenAcceptBoth(CompletableFuture.supplyAsync(() -> 1), (x,
            y) -> Thread.yield());
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void runAfterEither(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.runAfterEither(new CompletableFuture<Void>(), Thread::yield);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void applyToEither(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.applyToEitherAsync(new CompletableFuture<String>(), x -> x);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void orTimeout(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.orTimeout(1, TimeUnit.MINUTES);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void copied(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.copy();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void minimalStage(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<?> f = c.minimalCompletionStage().thenApply(x -> x).toCompletableFuture();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void exceptionally(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        CompletableFuture<String> f = c.exceptionally(e -> "failed");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.completeExceptionally(new IllegalStateException());
            if (late) {
                b.value = 7;
            }
        }, () -> {
            f.join();
            b.use();
        });
    }

    static void exceptionCaught(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.completeExceptionally(new IllegalStateException());
            if (late) {
                b.value = 7;
            }
        }, () -> {
            try {
                c.join();
            } catch (CompletionException e) {
                b.use();
            }
        });
    }

    static void getNow(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.complete("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> c.getNow(null) != null);
            b.use();
        });
    }

    static void isCompletedExceptionally(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.completeExceptionally(new Exception());
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> c.isCompletedExceptionally());
            b.use();
        });
    }

    static void completeFails(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            if (!c.complete("one")) {
                b.use();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> c.isDone());
            if (!c.complete("two")) {
                b.use();
            }
        });
    }

    static void cancelled(boolean late) throws Exception {
        CompletableFuture<String> c = new CompletableFuture<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            c.cancel(true);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> c.isCancelled());
            b.use();
        });
    }

    static void cancelFails(boolean late) throws Exception {
        FutureTask<Integer> task = new FutureTask<>(() -> 1);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            task.run();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(task::isDone);
            if (!task.cancel(true)) {
                b.use();
            }
        });
    }

    static void completeOnTimeout(boolean late) throws Exception {
        Box b = Box.full();
        CompletableFuture<String> c = new CompletableFuture<String>().completeOnTimeout("x", 1,
            TimeUnit.MILLISECONDS);
        CompletableFuture<Void> f = c.thenAccept(x -> b.use());
        f.join();
        b.use();
    }

    static void completeAsync(boolean late) throws Exception {
        Box b = Box.full();
        new CompletableFuture<Box>().completeAsync(() -> {
            b.use();
            return b;
        }).join().use();
    }

    static void delayedExecutor(boolean late) throws Exception {
        Box b = Box.full();
        Executor later = CompletableFuture.delayedExecutor(1, TimeUnit.MILLISECONDS);
        CompletableFuture.runAsync(b::use, later).join();
        b.use();
    }

    static void asyncChain(boolean late) throws Exception {
        CompletableFuture<Box> f = CompletableFuture.supplyAsync(Box::full).thenApplyAsync(b -> {
            b.use();
            return b;
        }).thenApplyAsync(b -> {
            b.use();
            return b;
        });
        f.join().use();
    }

    static void allOfStreams(boolean late) throws Exception {
        List<CompletableFuture<Box>> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            all.add(CompletableFuture.supplyAsync(Box::full));
        }
        CompletableFuture.allOf(all.toArray(new CompletableFuture<?>[0])).join();
        for (CompletableFuture<Box> f : all) {
            f.getNow(null).use();
        }
    }
}
