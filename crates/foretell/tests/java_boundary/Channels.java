import java.io.*;
import java.net.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

/** Files, sockets, processes and the rest of the platform. */
class Channels extends MoreThreads {
    static void tempFile(boolean late) throws Exception {
        Path file = Files.createTempFile("handover", null);
        Files.delete(file);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            Files.writeString(file, "x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> Files.exists(file));
            b.use();
        });
        Files.delete(file);
    }

    static void fileLength(boolean late) throws Exception {
        File file = File.createTempFile("handover", null);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            try (FileWriter w = new FileWriter(file)) {
                w.write("xyz");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> file.length() == 3);
            b.use();
        });
        file.delete();
    }

    static void fileChannel(boolean late) throws Exception {
        Path file = Files.createTempFile("handover", null);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            try (FileChannel c = FileChannel.open(file, StandardOpenOption.WRITE)) {
                c.write(ByteBuffer.wrap(new byte[] {5}));
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            try (FileChannel c = FileChannel.open(file)) {
                while (c.size() == 0) {
                    Thread.yield();
                }
            }
            b.use();
        });
        Files.delete(file);
    }

    static void mappedFile(boolean late) throws Exception {
        Path file = Files.createTempFile("handover", null);
        Files.write(file, new byte[16]);
        Box b = new Box();
        try (FileChannel c = FileChannel.open(file, StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
            MappedByteBuffer m = c.map(FileChannel.MapMode.READ_WRITE, 0, 16);
            both(() -> {
                b.value = 1;
                synchronized (m) {
                    m.put(3, (byte) 1);
                }
                if (late) {
                    b.value = 7;
                }
            }, () -> {
                until(() -> {
                    synchronized (m) {
                        return m.get(3) == 1;
                    }
                });
                b.use();
            });
        }
        Files.delete(file);
    }

    static void nioPipe(boolean late) throws Exception {
        Pipe pipe = Pipe.open();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            pipe.sink().write(ByteBuffer.wrap(new byte[] {1}));
            if (late) {
                b.value = 7;
            }
        }, () -> {
            pipe.source().read(ByteBuffer.allocate(1));
            b.use();
        });
        pipe.sink().close();
        pipe.source().close();
    }

    static void socketChannel(boolean late) throws Exception {
        ServerSocketChannel server = ServerSocketChannel.open()
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            try (SocketChannel c = SocketChannel.open(server.getLocalAddress())) {
                c.write(ByteBuffer.wrap(new byte[] {1}));
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            try (SocketChannel c = server.accept()) {
                c.read(ByteBuffer.allocate(1));
            }
            b.use();
        });
        server.close();
    }

    static void datagram(boolean late) throws Exception {
        DatagramSocket to = new DatagramSocket(0, InetAddress.getLoopbackAddress());
        Box b = new Box();
        both(() -> {
            b.value = 1;
            try (DatagramSocket from = new DatagramSocket()) {
                from.send(new DatagramPacket(new byte[1], 1, InetAddress.getLoopbackAddress(),
                    to.getLocalPort()));
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            to.receive(new DatagramPacket(new byte[1], 1));
            b.use();
        });
        to.close();
    }

    static void socketClosed(boolean late) throws Exception {
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Box b = new Box();
        both(() -> {
            b.value = 1;
            server.close();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            try {
                server.accept();
            } catch (SocketException e) {
                b.use();
            }
        });
    }

    static void process(boolean late) throws Exception {
        Process process = new ProcessBuilder("cat").start();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            try (OutputStream out = process.getOutputStream()) {
                out.write('x');
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            process.getInputStream().read();
            b.use();
        });
        process.waitFor();
    }

    static void processExit(boolean late) throws Exception {
        Process process = new ProcessBuilder("cat").start();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            process.getOutputStream().close();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            process.waitFor();
            b.use();
        });
    }

    static void pipedObject(boolean late) throws Exception {
        PipedInputStream in = new PipedInputStream();
        PipedOutputStream out = new PipedOutputStream(in);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            try (DataOutputStream data = new DataOutputStream(out)) {
                data.writeInt(5);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            try (DataInputStream data = new DataInputStream(in)) {
                data.readInt();
            }
            b.use();
        });
    }

    static void bufferedLines(boolean late) throws Exception {
        PipedReader in = new PipedReader();
        PipedWriter out = new PipedWriter(in);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            try (PrintWriter p = new PrintWriter(out)) {
                p.println("go");
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            try (BufferedReader r = new BufferedReader(in)) {
                r.lines().forEach(line -> Thread.yield());
            }
            b.use();
        });
    }

    static void serialised(boolean late) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new ArrayList<>(List.of(1, 2)));
        }
        Object monitor = new Object();
        List<Object> got = new ArrayList<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            Object read;
            try (ObjectInputStream in =
                new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
                read = in.readObject();
            }
            synchronized (monitor) {
                got.add(read);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return got.size() == 1;
                }
            });
            b.use();
        });
    }

    static void reflectedConstructor(boolean late) throws Exception {
        Object monitor = new Object();
        List<Box> got = new ArrayList<>();
        pass(b -> {
            Box copy = Box.class.getDeclaredConstructor().newInstance();
            copy.value = b.value;
            synchronized (monitor) {
                got.add(copy);
            }
            if (late) {
                copy.value = 7;
            }
        }, () -> {
            synchronized (monitor) {
                return got.isEmpty() ? null : got.get(0);
            }
        });
    }

    static void proxy(boolean late) throws Exception {
        Box b = new Box();
        Object monitor = new Object();
        ClassLoader loader = MoreThreads.class.getClassLoader();
        Class<?>[] types = {Runnable.class};
        Runnable r = (Runnable) java.lang.reflect.Proxy.newProxyInstance(loader, types, (p, m, a) -> {
            synchronized (monitor) {
                b.use();
            }
            return null;
        });
        both(r::run, r::run);
    }

    static void referenceQueue(boolean late) throws Exception {
        java.lang.ref.ReferenceQueue<Object> queue = new java.lang.ref.ReferenceQueue<>();
        Box b = new Box();
        java.lang.ref.WeakReference<Object> weak =
            new java.lang.ref.WeakReference<>(new Object(), queue);
        both(() -> {
            b.value = 1;
            weak.enqueue();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> queue.poll() != null);
            b.use();
        });
    }

    static void cleaner(boolean late) throws Exception {
        Box b = new Box();
        CountDownLatch cleaned = new CountDownLatch(1);
        java.lang.ref.Cleaner.Cleanable c = java.lang.ref.Cleaner.create().register(new Object(),
            () -> {
            b.use();
            cleaned.countDown();
        });
        b.value = 1;
        c.clean();
        cleaned.await();
        b.use();
    }

    static void shutdownHook(boolean late) throws Exception {
        Box b = new Box();
        Runtime.getRuntime().addShutdownHook(new Thread(b::use));
        b.value = 1;
    }

    static void weakGet(boolean late) throws Exception {
        java.lang.ref.WeakReference<Object> weak = new java.lang.ref.WeakReference<>("x");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            weak.clear();
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> weak.get() == null);
            b.use();
        });
    }

    static void sharedRandom(boolean late) throws Exception {
        Random random = new Random(1);
        Box b = new Box();
        both(() -> {
            synchronized (b) {
                b.value += random.nextInt(1);
            }
        }, () -> {
            synchronized (b) {
                b.value += random.nextInt(1);
            }
        });
    }

    static void dateFormat(boolean late) throws Exception {
        java.text.SimpleDateFormat format = new java.text.SimpleDateFormat("yyyy");
        Box b = new Box();
        both(() -> {
            synchronized (format) {
                format.format(new Date(0));
                b.use();
            }
        }, () -> {
            synchronized (format) {
                format.format(new Date(0));
                b.use();
            }
        });
    }

    static void calendarFlag(boolean late) throws Exception {
        Calendar calendar = Calendar.getInstance();
        calendar.setTimeInMillis(0);
        Object monitor = new Object();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                calendar.setTimeInMillis(5);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> later(monitor, calendar));
            b.use();
        });
    }

    static void resourceBundle(boolean late) throws Exception {
        Object monitor = new Object();
        Map<String, ResourceBundle> bundles = new HashMap<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                bundles.put("k", new Texts());
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> has(monitor, bundles));
            b.use();
        });
    }
}
