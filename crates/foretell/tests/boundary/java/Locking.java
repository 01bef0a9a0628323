import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/** Locks, conditions and parking. */
final class Locking extends Scenario {
    static final class NamedLock extends ReentrantLock {
        private static final long serialVersionUID = 1;
        final String name = "named";
        @Override public void lock() { super.lock(); }
    }

    public static void main(String[] args) throws Exception {
        bug = args[1].equals("bug");
        switch (args[0]) {
            case "reentrantLock" -> {
                Lock l = new ReentrantLock();
                count(l::lock, l::unlock);
            }
            case "subclass" -> {
                Lock l = new NamedLock();
                count(l::lock, l::unlock);
            }
            case "writeLock" -> {
                Lock l = new ReentrantReadWriteLock().writeLock();
                count(l::lock, l::unlock);
            }
            case "stampedLock" -> {
                StampedLock l = new StampedLock();
                long[] stamp = new long[1];
                both(() -> { long s = l.writeLock(); data++; l.unlockWrite(s); }, () -> {
                    if (bug) {
                        data++;
                    } else {
                        long s = l.writeLock();
                        data++;
                        l.unlockWrite(s);
                    }
                });
                seen = data + (int) stamp[0];
            }
            case "stampedAsLock" -> {
                Lock l = new StampedLock().asWriteLock();
                count(l::lock, l::unlock);
            }
            case "tryLock" -> {
                Lock a = new ReentrantLock(), b = new ReentrantLock();
                both(() -> {
                    a.lock();
                    b.lock();
                    data++;
                    b.unlock();
                    a.unlock();
                }, () -> {
                    for (boolean done = false; !done; Thread.yield()) {
                        b.lock();
                        if (bug) a.lock();
                        if (bug || a.tryLock()) {
                            data++;
                            a.unlock();
                            done = true;
                        }
                        b.unlock();
                    }
                });
                seen = data;
            }
            case "downgrade" -> {
                ReentrantReadWriteLock l = new ReentrantReadWriteLock();
                both(() -> {
                    l.writeLock().lock();
                    data = 42;
                    if (!bug) l.readLock().lock();
                    l.writeLock().unlock();
                    seen = data;
                    if (!bug) l.readLock().unlock();
                }, () -> {
                    l.writeLock().lock();
                    data = 43;
                    l.writeLock().unlock();
                });
                seen = seen >= 42 ? 42 : seen;
            }
            case "condition" -> {
                Lock l = new ReentrantLock();
                Condition ready = l.newCondition();
                boolean[] set = new boolean[1];
                pass(() -> { l.lock(); set[0] = true; ready.signal(); l.unlock(); }, () -> {
                    l.lock();
                    while (!set[0]) ready.awaitUninterruptibly();
                    l.unlock();
                });
            }
            case "park" -> {
                Thread[] waiter = new Thread[1];
                boolean[] set = new boolean[1];
                waiter[0] = new Thread(() -> {
                    for (boolean done = false; !done;) {
                        synchronized (lock) { done = set[0]; }
                        if (!done) LockSupport.parkNanos(1_000_000);
                    }
                    seen = data;
                });
                waiter[0].start();
                handOver(() -> {
                    synchronized (lock) { set[0] = true; }
                    LockSupport.unpark(waiter[0]);
                });
                waiter[0].join();
            }
            case "waitNotify" -> {
                boolean[] set = new boolean[1];
                pass(() -> {
                    synchronized (lock) { set[0] = true; lock.notifyAll(); }
                }, () -> {
                    synchronized (lock) {
                        while (!set[0]) {
                            try { lock.wait(); } catch (InterruptedException e) { throw new IllegalStateException(e); }
                        }
                    }
                });
            }
            case "monitorOfLock" -> {
                // The lock and the monitor of the lock's object are two locks, always in this order.
                Lock l = new ReentrantLock();
                Runnable right = () -> { synchronized (l) { l.lock(); data++; l.unlock(); } };
                both(right, bug ? () -> { l.lock(); synchronized (l) { data++; } l.unlock(); } : right);
                seen = data;
            }
            case "wrapped" -> {
                Lock inner = new ReentrantLock();
                Semaphore gate = new Semaphore(1);
                count(() -> { gate.acquireUninterruptibly(); inner.lock(); }, () -> { inner.unlock(); gate.release(); });
            }
            case "ownSpinLock" -> {
                var word = new java.util.concurrent.atomic.AtomicBoolean();
                count(() -> { while (!word.compareAndSet(false, true)) Thread.yield(); }, () -> word.set(false));
            }
            default -> throw new IllegalArgumentException(args[0]);
        }
        end(args[1]);
    }
}
