import java.io.*;
import java.net.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

/** Threads that are asked, interrupted and enumerated. */
class ThreadStates extends MoreThreads {
    static void joinSeveral(boolean late) throws Exception {
        Box b = new Box();
        Thread[] all = new Thread[3];
        for (int i = 0; i < all.length; i++) {
            all[i] = start(() -> {
                synchronized (b) {
                    b.use();
                }
            });
        }
        for (Thread t : all) {
            t.join();
        }
        b.use();
    }

    static void joinNanos(boolean late) throws Exception {
        Box b = new Box();
        Thread t = start(b::use);
        while (t.isAlive()) {
            t.join(1, 5);
        }
        b.use();
    }

    static void threadMonitorWait(boolean late) throws Exception {
        Box b = new Box();
        Thread t = start(b::use);
        synchronized (t) {
            while (t.isAlive()) {
                t.wait(10);
            }
        }
        b.use();
    }

    static void groupEnumerate(boolean late) throws Exception {
        ThreadGroup group = new ThreadGroup("group");
        Box b = new Box();
        Thread t = new Thread(group, b::use);
        t.start();
        until(() -> group.activeCount() == 0);
        b.use();
        t.join();
    }

    static void allStackTraces(boolean late) throws Exception {
        Box b = new Box();
        Thread t = start(b::use);
        until(() -> !Thread.getAllStackTraces().containsKey(t));
        b.use();
    }

    static void threadName(boolean late) throws Exception {
        Thread named = new Thread();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            named.setName("ready");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> named.getName().equals("ready"));
            b.use();
        });
    }

    static void threadPriority(boolean late) throws Exception {
        Thread other = new Thread();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            other.setPriority(7);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> other.getPriority() == 7);
            b.use();
        });
    }

    static void threadDaemon(boolean late) throws Exception {
        Thread other = new Thread();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            other.setDaemon(true);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> other.isDaemon());
            b.use();
        });
    }

    static void handlerPublished(boolean late) throws Exception {
        class Keeper implements Thread.UncaughtExceptionHandler {
            final Box box = Box.full();

            @Override
            public void uncaughtException(Thread t, Throwable e) {
                box.use();
            }
        }
        Thread other = new Thread();
        both(() -> {
            Keeper k = new Keeper();
            k.box.value = 5;
            other.setUncaughtExceptionHandler(k);
            if (late) {
                k.box.value = 7;
            }
        }, () -> {
            until(() -> other.getUncaughtExceptionHandler() instanceof Keeper);
            ((Keeper) other.getUncaughtExceptionHandler()).box.use();
        });
    }

    static void defaultHandler(boolean late) throws Exception {
        Box b = new Box();
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((t, e) -> b.use());
        Thread t = new Thread(() -> {
            b.value = 1;
            throw new IllegalStateException();
        });
        t.start();
        t.join();
        b.use();
        Thread.setDefaultUncaughtExceptionHandler(before);
    }

    static void contextLoader(boolean late) throws Exception {
        Thread other = new Thread();
        ClassLoader mine = new ClassLoader() {
        };
        Box b = new Box();
        both(() -> {
            b.value = 1;
            other.setContextClassLoader(mine);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> other.getContextClassLoader() == mine);
            b.use();
        });
    }

    static void interruptJoin(boolean late) throws Exception {
        Box b = new Box();
        Thread main = Thread.currentThread();
        Thread t = start(() -> {
            b.value = 1;
            main.interrupt();
            Thread.sleep(20);
        });
        try {
            t.join();
        } catch (InterruptedException e) {
            b.use();
        }
        t.join();
    }

    static void interruptTake(boolean late) throws Exception {
        Box b = new Box();
        BlockingQueue<String> q = new LinkedBlockingQueue<>();
        Thread t = start(() -> {
            try {
                q.take();
            } catch (InterruptedException e) {
                b.use();
            }
        });
        b.value = 1;
        t.interrupt();
        if (late) {
            b.value = 7;
        }
        t.join();
    }

    static void interruptLock(boolean late) throws Exception {
        Box b = new Box();
        java.util.concurrent.locks.ReentrantLock lock =
            new java.util.concurrent.locks.ReentrantLock();
        lock.lock();
        Thread t = start(() -> {
            try {
                lock.lockInterruptibly();
            } catch (InterruptedException e) {
                b.use();
            }
        });
        b.value = 1;
        t.interrupt();
        if (late) {
            b.value = 7;
        }
        t.join();
        lock.unlock();
    }

    static void interruptPark(boolean late) throws Exception {
        Box b = new Box();
        Thread t = start(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                java.util.concurrent.locks.LockSupport.park();
            }
            b.use();
        });
        b.value = 1;
        t.interrupt();
        if (late) {
            b.value = 7;
        }
        t.join();
    }

    static void interruptByCancel(boolean late) throws Exception {
        Box b = new Box();
        FutureTask<Void> task = new FutureTask<>(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                Thread.yield();
            }
            b.use();
            return null;
        });
        Thread t = start(task::run);
        until(() -> t.getState() != Thread.State.NEW);
        b.value = 1;
        task.cancel(true);
        t.join();
        b.use();
    }

    static void threadLocalRemoved(boolean late) throws Exception {
        ThreadLocal<Box> local = ThreadLocal.withInitial(Box::full);
        both(() -> {
            local.get().use();
            local.remove();
            local.get().use();
        }, () -> local.get().use());
    }

    static void inheritedBox(boolean late) throws Exception {
        InheritableThreadLocal<Box> local = new InheritableThreadLocal<>();
        Box b = Box.full();
        local.set(b);
        Thread t = start(() -> local.get().use());
        if (late) {
            b.value = 7;
        }
        t.join();
        local.remove();
    }
}
