import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/** Exchangers, accumulators and functions of atomic objects. */
class AtomicObjects extends MoreConcurrent {
    static void phaserOnAdvance(boolean late) throws Exception {
        Box b = new Box();
        Phaser p = new Phaser(2) {
            @Override
            protected boolean onAdvance(int phase, int parties) {
                b.use();
                return true;
            }
        };
        both(() -> {
            b.value = 1;
            p.arriveAndAwaitAdvance();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            p.arriveAndAwaitAdvance();
            b.use();
        });
    }

    static void exchangerBothWays(boolean late) throws Exception {
        Exchanger<Box> x = new Exchanger<>();
        both(() -> {
            Box b = Box.full();
            Box other = x.exchange(b);
            other.use();
            if (late) {
                b.value = 7;
            }
        }, () -> x.exchange(Box.full()).use());
    }

    static void delayQueueTyped(boolean late) throws Exception {
        DelayQueue<Later> q = new DelayQueue<>();
        pass(b -> {
            q.add(new Later(b));
            if (late) {
                b.value = 7;
            }
        }, () -> {
            Later l = q.poll();
            return l == null ? null : l.box();
        });
    }

    static void delayQueueTake(boolean late) throws Exception {
        BlockingQueue<Later> q = new DelayQueue<>();
        pass(b -> {
            q.put(new Later(b));
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return q.take().box();
        });
    }

    static void adderReset(boolean late) throws Exception {
        LongAdder a = new LongAdder();
        a.increment();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.reset();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> a.sum() == 0);
            b.use();
        });
    }

    static void accumulatorMax(boolean late) throws Exception {
        LongAccumulator a = new LongAccumulator(Long::max, 0);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.accumulate(5);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> a.get() == 5);
            b.use();
        });
    }

    static void doubleAccumulator(boolean late) throws Exception {
        DoubleAccumulator a = new DoubleAccumulator(Double::sum, 0);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.accumulate(2);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> a.doubleValue() > 1);
            b.use();
        });
    }

    static void stampedReferenceStamp(boolean late) throws Exception {
        AtomicStampedReference<String> r = new AtomicStampedReference<>("a", 0);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            r.set("a", 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> r.getStamp() == 1);
            b.use();
        });
    }

    static void markableAttempt(boolean late) throws Exception {
        AtomicMarkableReference<String> r = new AtomicMarkableReference<>("a", false);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            r.attemptMark("a", true);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> r.isMarked());
            b.use();
        });
    }

    static void updateAndGetReads(boolean late) throws Exception {
        AtomicInteger a = new AtomicInteger();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.set(1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            boolean[] done = new boolean[1];
            until(() -> {
                a.updateAndGet(v -> {
                    if (v == 1 && !done[0]) {
                        b.use();
                        done[0] = true;
                    }
                    return v;
                });
                return done[0];
            });
        });
    }

    static void accumulateAndGetReads(boolean late) throws Exception {
        AtomicLong a = new AtomicLong();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.set(1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            boolean[] done = new boolean[1];
            until(() -> {
                a.accumulateAndGet(0, (v, zero) -> {
                    if (v == 1 && !done[0]) {
                        b.use();
                        done[0] = true;
                    }
                    return v;
                });
                return done[0];
            });
        });
    }

    static void referenceGetAndUpdate(boolean late) throws Exception {
        AtomicReference<Box> a = new AtomicReference<>();
        both(() -> {
            Box b = Box.full();
            a.set(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            boolean[] done = new boolean[1];
            until(() -> {
                a.getAndUpdate(b -> {
                    if (b != null && !done[0]) {
                        b.use();
                        done[0] = true;
                    }
                    return b;
                });
                return done[0];
            });
        });
    }

    static void atomicGetPlain(boolean late) throws Exception {
        AtomicInteger a = new AtomicInteger();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.setRelease(1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> a.getAcquire() == 1);
            b.use();
        });
    }

    static void atomicOpaque(boolean late) throws Exception {
        AtomicBoolean a = new AtomicBoolean();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.setRelease(true);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> a.getAcquire());
            b.use();
        });
    }

    static void atomicCompareAndExchange(boolean late) throws Exception {
        AtomicInteger a = new AtomicInteger();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.compareAndExchange(0, 1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> a.compareAndExchange(1, 1) == 1);
            b.use();
        });
    }

    static void atomicToString(boolean late) throws Exception {
        AtomicInteger a = new AtomicInteger();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.set(5);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> a.toString().equals("5"));
            b.use();
        });
    }

    static void atomicConcatenated(boolean late) throws Exception {
        AtomicInteger a = new AtomicInteger();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.set(5);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> ("" + a).equals("5"));
            b.use();
        });
    }

    static void atomicLongArrayUpdate(boolean late) throws Exception {
        AtomicLongArray a = new AtomicLongArray(2);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            a.accumulateAndGet(1, 3, Long::sum);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> a.get(1) == 3);
            b.use();
        });
    }
}
