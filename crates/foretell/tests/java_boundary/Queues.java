import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/** Blocking queues by less usual methods and in mixtures. */
class Queues extends MoreConcurrent {
    static void synchronousQueue(boolean late) throws Exception {
        BlockingQueue<Box> q = new SynchronousQueue<>();
        pass(b -> {
            q.put(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return q.take();
        });
    }

    static void synchronousQueueFair(boolean late) throws Exception {
        SynchronousQueue<String> q = new SynchronousQueue<>(true);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            q.take();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.put("go");
            b.use();
        });
    }

    static void synchronousOffer(boolean late) throws Exception {
        SynchronousQueue<Box> q = new SynchronousQueue<>();
        pass(b -> {
            while (!q.offer(b)) {
                Thread.yield();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return q.poll(10, TimeUnit.MILLISECONDS);
        });
    }

    static void synchronousPoll(boolean late) throws Exception {
        Queue<Box> q = new SynchronousQueue<>();
        pass(b -> {
            while (!q.offer(b)) {
                Thread.yield();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return ((SynchronousQueue<Box>) q).take();
        });
    }

    static void transferTry(boolean late) throws Exception {
        LinkedTransferQueue<Box> q = new LinkedTransferQueue<>();
        pass(b -> {
            while (!q.tryTransfer(b)) {
                Thread.yield();
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return q.take();
        });
    }

    static void transferTyped(boolean late) throws Exception {
        TransferQueue<Box> q = new LinkedTransferQueue<>();
        pass(b -> {
            q.put(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return q.poll();
        });
    }

    static void transferWaits(boolean late) throws Exception {
        TransferQueue<String> q = new LinkedTransferQueue<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            q.take();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.transfer("go");
            b.use();
        });
    }

    static void dequeBothEnds(boolean late) throws Exception {
        LinkedBlockingDeque<Box> d = new LinkedBlockingDeque<>();
        pass(b -> {
            d.putFirst(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return d.pollLast();
        });
    }

    static void dequeMixed(boolean late) throws Exception {
        BlockingDeque<Box> d = new LinkedBlockingDeque<>(1);
        pass(b -> {
            d.addFirst(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return d.take();
        });
    }

    static void queueClear(boolean late) throws Exception {
        BlockingQueue<String> q = new LinkedBlockingQueue<>(List.of("a"));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            q.clear();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> q.isEmpty());
            b.use();
        });
    }

    static void queueAddAll(boolean late) throws Exception {
        BlockingQueue<Box> q = new ArrayBlockingQueue<>(2);
        pass(b -> {
            q.addAll(List.of(b));
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return q.poll();
        });
    }

    static void queueDrained(boolean late) throws Exception {
        BlockingQueue<String> q = new ArrayBlockingQueue<>(1);
        q.add("full");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            q.drainTo(new ArrayList<>());
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.put("next");
            b.use();
        });
    }

    static void queueCapacity(boolean late) throws Exception {
        ArrayBlockingQueue<String> q = new ArrayBlockingQueue<>(1);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            q.add("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> q.remainingCapacity() == 0);
            b.use();
        });
    }

    static void queueRemoveElement(boolean late) throws Exception {
        BlockingQueue<String> q = new LinkedBlockingQueue<>(List.of("a"));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            q.remove("a");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> q.peek() == null);
            b.use();
        });
    }

    static void queueIterator(boolean late) throws Exception {
        BlockingQueue<Box> q = new LinkedBlockingQueue<>();
        pass(b -> {
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            Iterator<Box> i = q.iterator();
            return i.hasNext() ? i.next() : null;
        });
    }

    static void queueStream(boolean late) throws Exception {
        BlockingQueue<Box> q = new LinkedBlockingQueue<>();
        pass(b -> {
            q.add(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return q.stream().findFirst().orElse(null);
        });
    }

    static void queueContains(boolean late) throws Exception {
        BlockingQueue<String> q = new LinkedBlockingQueue<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            q.add("x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> q.contains("x"));
            b.use();
        });
    }

    static void boundedHandback(boolean late) throws Exception {
        BlockingQueue<Integer> q = new ArrayBlockingQueue<>(1);
        q.put(0);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            q.take();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            q.put(1);
            b.use();
        });
    }

    static void offerFails(boolean late) throws Exception {
        BlockingQueue<Integer> q = new ArrayBlockingQueue<>(1);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            q.put(1);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                boolean empty = q.offer(2);
                if (empty) {
                    q.remove(2);
                }
                return !empty;
            });
            b.use();
        });
    }
}
