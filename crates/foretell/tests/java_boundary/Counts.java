import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/** Semaphores, latches, barriers and phasers that are asked and time out. */
class Counts extends MoreConcurrent {
    static void linkedQueueMethodReference(boolean late) throws Exception {
        Queue<Box> q = new ConcurrentLinkedQueue<>();
        java.util.function.Consumer<Box> give = q::add;
        java.util.function.Supplier<Box> take = q::poll;
        pass(b -> {
            give.accept(b);
            if (late) {
                b.value = 7;
            }
        }, take::get);
    }

    static void newKeySet(boolean late) throws Exception {
        Set<String> s = ConcurrentHashMap.newKeySet();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            s.add("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> s.contains("x"));
            b.use();
        });
    }

    static void semaphoreFails(boolean late) throws Exception {
        Semaphore s = new Semaphore(1);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            s.acquire();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                boolean free = s.tryAcquire();
                if (free) {
                    s.release();
                }
                return !free;
            });
            b.use();
        });
    }

    static void semaphoreDrainNothing(boolean late) throws Exception {
        Semaphore s = new Semaphore(1);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            s.acquire();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                int n = s.drainPermits();
                s.release(n);
                return n == 0;
            });
            b.use();
        });
    }

    static void semaphoreMany(boolean late) throws Exception {
        Semaphore s = new Semaphore(0, true);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            s.release(3);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            s.acquire(2);
            s.acquireUninterruptibly();
            b.use();
        });
    }

    static void semaphoreTimedOut(boolean late) throws Exception {
        Semaphore s = new Semaphore(1);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            s.acquire();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            while (s.tryAcquire(1, TimeUnit.MILLISECONDS)) {
                s.release();
                Thread.yield();
            }
            b.use();
        });
    }

    static void latchTimedOut(boolean late) throws Exception {
        CountDownLatch l = new CountDownLatch(1);
        Box b = new Box();
        b.value = 1;
        both(() -> {
            boolean open = l.await(1, TimeUnit.MILLISECONDS);
            if (!open) {
                b.use();
            }
            until(() -> l.getCount() == 0 || true);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            Thread.yield();
        });
        b.use();
    }

    static void latchCount(boolean late) throws Exception {
        CountDownLatch l = new CountDownLatch(2);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            l.countDown();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> l.getCount() == 1);
            b.use();
        });
    }

    static void barrierWaiting(boolean late) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            barrier.await();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> barrier.getNumberWaiting() == 1);
            b.use();
            barrier.await();
        });
    }

    static void barrierBroken(boolean late) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            try {
                barrier.await(1, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                Thread.yield();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(barrier::isBroken);
            b.use();
        });
    }

    static void barrierTwice(boolean late) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(2);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            barrier.await();
            barrier.await();
            b.use();
            if (late) {
                barrier.await();
                b.value = 7;
            } else {
                barrier.await();
            }
        }, () -> {
            barrier.await();
            b.use();
            barrier.await();
            barrier.await();
            if (late) {
                b.value = 8;
            }
        });
    }

    static void phaserTiered(boolean late) throws Exception {
        Phaser root = new Phaser();
        Phaser left = new Phaser(root, 1);
        Phaser right = new Phaser(root, 1);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            left.arriveAndAwaitAdvance();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            right.arriveAndAwaitAdvance();
            b.use();
        });
    }

    static void phaserDeregister(boolean late) throws Exception {
        Phaser p = new Phaser(1);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            p.arriveAndDeregister();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> p.isTerminated());
            b.use();
        });
    }

    static void phaserAwaitAdvance(boolean late) throws Exception {
        Phaser p = new Phaser(1);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            p.arrive();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            p.awaitAdvance(0);
            b.use();
        });
    }
}
