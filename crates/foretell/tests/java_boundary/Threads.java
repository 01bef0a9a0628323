import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.*;

/** Threads, interrupts, initial values, streams of bytes, reflection. */
public class Threads extends Handover {
    private Threads() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("join", Threads::join)
            .run("joinTimed", Threads::joinTimed)
            .run("isAlive", Threads::isAlive)
            .run("getState", Threads::getState)
            .run("interruptPolled", Threads::interruptPolled)
            .run("interruptedCleared", Threads::interruptedCleared)
            .run("interruptSleep", Threads::interruptSleep)
            .run("interruptWait", Threads::interruptWait)
            .run("uncaughtHandler", Threads::uncaughtHandler)
            .run("threadSubclass", Threads::threadSubclass)
            .run("threadLocalValues", Threads::threadLocalValues)
            .run("inheritedThreadLocal", Threads::inheritedThreadLocal)
            .run("threadGroupCount", Threads::threadGroupCount)
            .run("staticInitialiser", Threads::staticInitialiser)
            .run("finalField", Threads::finalField)
            .run("defaultFields", Threads::defaultFields)
            .run("stringBuilderInMonitor", Threads::stringBuilderInMonitor)
            .run("stringBuffer", Threads::stringBuffer)
            .run("systemProperty", Threads::systemProperty)
            .run("pipedStream", Threads::pipedStream)
            .run("pipedReader", Threads::pipedReader)
            .run("fileContent", Threads::fileContent)
            .run("socket", Threads::socket)
            .run("byteBuffer", Threads::byteBuffer)
            .run("reflectiveCall", Threads::reflectiveCall)
            .run("observable", Threads::observable);
    }

    /** A class with a static initialiser. */
    static final class Lazy {
        static final Object BOX = Box.full();
    }

    /** An object with a final field. */
    static final class Frozen {
        private final int[] parts;

        Frozen(int count) {
            parts = new int[count];
            Arrays.fill(parts, 1);
        }

        int sum() {
            return parts[0] + parts[1];
        }
    }

    /** Fields and arrays that are only read before they are written. */
    static final class Defaults {
        int count;
        boolean ready;
        final int[] array = new int[3];
        final int[][] grid = new int[2][2];
    }

    /** A holder of the last value, behind a synchronized list of listeners. */
    static final class PropertyHolder {
        private final List<Box> seen = Collections.synchronizedList(new LinkedList<>());

        void fire(Box box) {
            seen.add(box);
        }

        Box last() {
            synchronized (seen) {
                return seen.isEmpty() ? null : seen.get(seen.size() - 1);
            }
        }
    }

    static void join(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = start(() -> box.value = 1);
        if (late) {
            box.value = 7;
        }
        thread.join();
        box.use();
    }

    static void joinTimed(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = start(() -> box.value = 1);
        if (late) {
            box.value = 7;
        }
        thread.join(10000);
        box.use();
    }

    static void isAlive(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = start(() -> box.value = 1);
        if (late) {
            box.value = 7;
        }
        while (thread.isAlive()) {
            Thread.yield();
        }
        box.use();
    }

    static void getState(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = start(() -> box.value = 1);
        if (late) {
            box.value = 7;
        }
        while (thread.getState() != Thread.State.TERMINATED) {
            Thread.yield();
        }
        box.use();
    }

    static void interruptPolled(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = start(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                Thread.yield();
            }
            box.use();
        });
        box.value = 1;
        thread.interrupt();
        if (late) {
            box.value = 7;
        }
        thread.join();
    }

    static void interruptedCleared(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = start(() -> {
            while (!Thread.interrupted()) {
                Thread.yield();
            }
            box.use();
        });
        box.value = 1;
        thread.interrupt();
        if (late) {
            box.value = 7;
        }
        thread.join();
    }

    static void interruptSleep(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = start(() -> {
            try {
                Thread.sleep(100000);
            } catch (InterruptedException e) {
                box.use();
            }
        });
        box.value = 1;
        thread.interrupt();
        if (late) {
            box.value = 7;
        }
        thread.join();
    }

    static void interruptWait(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = start(() -> {
            try {
                synchronized (box) {
                    box.wait();
                }
            } catch (InterruptedException e) {
                box.use();
            }
        });
        box.value = 1;
        thread.interrupt();
        if (late) {
            box.value = 7;
        }
        thread.join();
    }

    static void uncaughtHandler(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = new Thread(() -> {
            box.value = 1;
            throw new IllegalStateException("expected");
        });
        thread.setUncaughtExceptionHandler((who, e) -> box.use());
        thread.start();
        if (late) {
            box.value = 7;
        }
        thread.join();
        box.use();
    }

    static void threadSubclass(boolean late) throws Exception {
        Box box = new Box();
        Thread thread = new Thread() {
            @Override
            public void run() {
                box.use();
            }
        };
        box.value = 1;
        thread.start();
        if (late) {
            box.value = 7;
        }
        thread.join();
        box.use();
    }

    static void threadLocalValues(boolean late) throws Exception {
        ThreadLocal<Box> local = ThreadLocal.withInitial(Box::full);
        Box box = new Box();
        both(() -> {
            local.get().use();
            if (late) {
                box.value = 7;
            }
        }, () -> {
            local.get().use();
            if (late) {
                box.value = 7;
            }
        });
    }

    static void inheritedThreadLocal(boolean late) throws Exception {
        InheritableThreadLocal<Box> local = new InheritableThreadLocal<>();
        Box box = Box.full();
        local.set(box);
        Thread thread = start(() -> local.get().use());
        if (late) {
            box.value = 7;
        }
        thread.join();
        box.use();
    }

    static void threadGroupCount(boolean late) throws Exception {
        ThreadGroup group = new ThreadGroup("workers");
        Box box = new Box();
        Thread thread = new Thread(group, () -> box.value = 1);
        thread.start();
        if (late) {
            box.value = 7;
        }
        thread.join();
        box.use();
    }

    static void staticInitialiser(boolean late) throws Exception {
        Box box = new Box();
        both(() -> {
            Lazy.BOX.getClass();
            if (late) {
                box.value = 7;
            }
        }, () -> {
            Lazy.BOX.getClass();
            if (late) {
                box.value = 7;
            }
        });
    }

    static void finalField(boolean late) throws Exception {
        List<Frozen> list = Collections.synchronizedList(new ArrayList<>());
        Box box = new Box();
        both(() -> {
            list.add(new Frozen(3));
            if (late) {
                box.value = 7;
            }
        }, () -> {
            if (!list.isEmpty()) {
                list.get(0).sum();
            }
            if (late) {
                box.value = 7;
            }
        });
    }

    static void defaultFields(boolean late) throws Exception {
        Defaults defaults = new Defaults();
        Box box = new Box();
        both(() -> {
            synchronized (defaults) {
                defaults.count++;
            }
            if (late) {
                box.value = 7;
            }
        }, () -> {
            synchronized (defaults) {
                defaults.count += defaults.array[2] + defaults.grid[1][1];
            }
            if (late) {
                box.value = 7;
            }
        });
    }

    static void stringBuilderInMonitor(boolean late) throws Exception {
        StringBuilder text = new StringBuilder();
        Box box = new Box();
        both(() -> {
            box.value = 1;
            synchronized (text) {
                text.append("ready");
            }
            if (late) {
                box.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (text) {
                return text.length() > 0 ? box : null;
            }
        }));
    }

    static void stringBuffer(boolean late) throws Exception {
        StringBuffer text = new StringBuffer();
        Box box = new Box();
        both(() -> {
            box.value = 1;
            text.append("ready");
            if (late) {
                box.value = 7;
            }
        }, () -> useFrom(() -> text.indexOf("ready") >= 0 ? box : null));
    }

    static void systemProperty(boolean late) throws Exception {
        System.clearProperty("handover.ready");
        Box box = new Box();
        both(() -> {
            box.value = 1;
            System.setProperty("handover.ready", "yes");
            if (late) {
                box.value = 7;
            }
        }, () -> useFrom(() -> System.getProperty("handover.ready") != null ? box : null));
    }

    static void pipedStream(boolean late) throws Exception {
        PipedInputStream in = new PipedInputStream();
        PipedOutputStream out = new PipedOutputStream(in);
        Box box = new Box();
        both(() -> {
            box.value = 1;
            out.write(1);
            out.flush();
            if (late) {
                box.value = 7;
            }
            out.close();
        }, () -> {
            in.read();
            box.use();
        });
    }

    static void pipedReader(boolean late) throws Exception {
        PipedReader in = new PipedReader();
        PipedWriter out = new PipedWriter(in);
        Box box = new Box();
        both(() -> {
            box.value = 1;
            out.write("ready\n");
            out.close();
            if (late) {
                box.value = 7;
            }
        }, () -> {
            new BufferedReader(in).readLine();
            box.use();
        });
    }

    static void fileContent(boolean late) throws Exception {
        File file = File.createTempFile("handover", null);
        Box box = new Box();
        both(() -> {
            box.value = 1;
            Files.write(file.toPath(), new byte[] {1});
            if (late) {
                box.value = 7;
            }
        }, () -> useFrom(() -> file.length() > 0 ? box : null));
        file.delete();
    }

    static void socket(boolean late) throws Exception {
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Box box = new Box();
        both(() -> {
            try (Socket peer = server.accept()) {
                box.value = 1;
                peer.getOutputStream().write(1);
                if (late) {
                    box.value = 7;
                }
            }
        }, () -> {
            try (Socket peer = new Socket(server.getInetAddress(), server.getLocalPort())) {
                peer.getInputStream().read();
                box.use();
            }
        });
        server.close();
    }

    static void byteBuffer(boolean late) throws Exception {
        ByteBuffer buffer = ByteBuffer.allocate(4);
        Box box = new Box();
        both(() -> {
            box.value = 1;
            synchronized (buffer) {
                buffer.put(0, (byte) 1);
            }
            if (late) {
                box.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (buffer) {
                return buffer.get(0) == 1 ? box : null;
            }
        }));
    }

    static void reflectiveCall(boolean late) throws Exception {
        List<Box> list = new LinkedList<>();
        java.lang.reflect.Method add = List.class.getMethod("add", Object.class);
        both(() -> {
            Box b = Box.full();
            synchronized (list) {
                add.invoke(list, b);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> useFrom(() -> {
            synchronized (list) {
                return list.isEmpty() ? null : list.remove(0);
            }
        }));
    }

    static void observable(boolean late) throws Exception {
        Box box = new Box();
        PropertyHolder holder = new PropertyHolder();
        both(() -> {
            box.value = 1;
            holder.fire(box);
            if (late) {
                box.value = 7;
            }
        }, () -> useFrom(holder::last));
    }
}
