import java.io.*;
import java.net.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

/** Idioms of the language, and settings of the program. */
class Idioms extends MoreThreads {
    static void holderIdiom(boolean late) throws Exception {
        both(() -> {
            synchronized (Holder.INSTANCE) {
                Holder.INSTANCE.use();
            }
        }, () -> {
            synchronized (Holder.INSTANCE) {
                Holder.INSTANCE.use();
            }
        });
    }

    static void enumSingleton(boolean late) throws Exception {
        both(() -> Single.ONE.add(), () -> Single.ONE.add());
    }

    static void doubleChecked(boolean late) throws Exception {
        Lazy lazy = new Lazy();
        Act act = () -> {
            Box b = lazy.get();
            synchronized (b) {
                b.use();
            }
        };
        both(act, act);
    }

    static void finalPublication(boolean late) throws Exception {
        Final[] slot = new Final[1];
        Object monitor = new Object();
        both(() -> {
            Final f = new Final(Box.full());
            synchronized (monitor) {
                slot[0] = f;
            }
            if (late) {
                f.box.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return slot[0] != null;
                }
            });
            slot[0].box.use();
        });
    }

    static void recordPublication(boolean late) throws Exception {
        Pair[] slot = new Pair[1];
        Object monitor = new Object();
        both(() -> {
            Box b = Box.full();
            synchronized (monitor) {
                slot[0] = new Pair(b, 1);
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> {
                synchronized (monitor) {
                    return slot[0] != null;
                }
            });
            slot[0].box().use();
        });
    }

    static void genericBridge(boolean late) throws Exception {
        Slot<Box> slot = new BoxSlot();
        pass(b -> {
            slot.put(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return slot.get();
        });
    }

    static void defaultMethod(boolean late) throws Exception {
        Named slot = new NamedSlot();
        pass(b -> {
            slot.store(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return slot.load();
        });
    }

    static void innerClassOuter(boolean late) throws Exception {
        Outer outer = new Outer();
        Outer.Inner inner = outer.new Inner();
        pass(b -> {
            inner.put(b);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            return outer.get();
        });
    }

    static void anonymousCallback(boolean late) throws Exception {
        Object monitor = new Object();
        List<Runnable> listeners = new ArrayList<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                listeners.add(() -> b.use());
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            Runnable[] got = new Runnable[1];
            until(() -> {
                synchronized (monitor) {
                    got[0] = listeners.isEmpty() ? null : listeners.get(0);
                    return got[0] != null;
                }
            });
            got[0].run();
        });
    }

    static void copyOnWriteListeners(boolean late) throws Exception {
        List<Runnable> listeners = new CopyOnWriteArrayList<>();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            listeners.add(b::use);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> !listeners.isEmpty());
            listeners.forEach(Runnable::run);
        });
    }

    static void propertyChange(boolean late) throws Exception {
        java.beans.PropertyChangeSupport support =
            new java.beans.PropertyChangeSupport(new Object());
        Box b = new Box();
        support.addPropertyChangeListener(e -> b.use());
        b.value = 1;
        Thread t = start(() -> support.firePropertyChange("x", 0, 1));
        t.join();
        b.use();
    }

    static void stringSwitch(boolean late) throws Exception {
        String[] state = {"no"};
        Object monitor = new Object();
        Box b = new Box();
        both(() -> {
            b.value = 1;
            synchronized (monitor) {
                state[0] = "yes";
            }
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> is(monitor, state));
            b.use();
        });
    }

    static void systemProperties(boolean late) throws Exception {
        System.clearProperty("handover");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            System.setProperty("handover", "1");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> Integer.getInteger("handover", 0) == 1);
            b.use();
        });
    }

    static void booleanProperty(boolean late) throws Exception {
        System.clearProperty("handover.b");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            System.setProperty("handover.b", "true");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> Boolean.getBoolean("handover.b"));
            b.use();
        });
    }

    static void propertiesObject(boolean late) throws Exception {
        System.clearProperty("handover.c");
        Box b = new Box();
        both(() -> {
            b.value = 1;
            System.getProperties().put("handover.c", "x");
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> System.getProperty("handover.c") != null);
            b.use();
        });
    }

    static void localeDefault(boolean late) throws Exception {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.ROOT);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            Locale.setDefault(Locale.CANADA);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> Locale.getDefault().equals(Locale.CANADA));
            b.use();
        });
    }

    static void zoneDefault(boolean late) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        Box b = new Box();
        both(() -> {
            b.value = 1;
            TimeZone.setDefault(TimeZone.getTimeZone("GMT+3"));
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> TimeZone.getDefault().getRawOffset() != 0);
            b.use();
        });
    }

    static void logHandler(boolean late) throws Exception {
        java.util.logging.Logger logger = java.util.logging.Logger.getAnonymousLogger();
        logger.setUseParentHandlers(false);
        Box b = new Box();
        logger.addHandler(new java.util.logging.Handler() {
            @Override
            public void publish(java.util.logging.LogRecord r) {
                synchronized (b) {
                    b.use();
                }
            }

            @Override
            public void flush() {
            }

            @Override
            public void close() {
            }
        });
        both(() -> logger.info("a"), () -> logger.warning("b"));
    }

    static void logLevel(boolean late) throws Exception {
        java.util.logging.Logger logger = java.util.logging.Logger.getAnonymousLogger();
        logger.setLevel(java.util.logging.Level.OFF);
        Box b = new Box();
        both(() -> {
            b.value = 1;
            logger.setLevel(java.util.logging.Level.ALL);
            if (late) {
                b.value = 7;
            }
        }, () -> {
            until(() -> logger.isLoggable(java.util.logging.Level.INFO));
            b.use();
        });
    }

    static void serviceLoader(boolean late) throws Exception {
        ServiceLoader<Runnable> loader = ServiceLoader.load(Runnable.class);
        Object monitor = new Object();
        Box b = new Box();
        both(() -> {
            synchronized (monitor) {
                loader.reload();
                b.use();
            }
        }, () -> {
            synchronized (monitor) {
                loader.findFirst();
                b.use();
            }
        });
    }
}
