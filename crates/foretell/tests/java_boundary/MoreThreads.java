import java.io.*;
import java.net.*;
import java.nio.*;
import java.nio.channels.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

/** Threads, idioms of the language, and the rest of the platform. */
public class MoreThreads extends Handover {
    MoreThreads() {
        super(new String[0]);
    }

    public static void main(String[] arguments) throws Exception {
        new Handover(arguments)
            .run("joinSeveral", ThreadStates::joinSeveral)
            .run("joinNanos", ThreadStates::joinNanos)
            .run("threadMonitorWait", ThreadStates::threadMonitorWait)
            .run("groupEnumerate", ThreadStates::groupEnumerate)
            .run("allStackTraces", ThreadStates::allStackTraces)
            .run("threadName", ThreadStates::threadName)
            .run("threadPriority", ThreadStates::threadPriority)
            .run("threadDaemon", ThreadStates::threadDaemon)
            .run("handlerPublished", ThreadStates::handlerPublished)
            .run("defaultHandler", ThreadStates::defaultHandler)
            .run("contextLoader", ThreadStates::contextLoader)
            .run("interruptJoin", ThreadStates::interruptJoin)
            .run("interruptTake", ThreadStates::interruptTake)
            .run("interruptLock", ThreadStates::interruptLock)
            .run("interruptPark", ThreadStates::interruptPark)
            .run("interruptByCancel", ThreadStates::interruptByCancel)
            .run("threadLocalRemoved", ThreadStates::threadLocalRemoved)
            .run("inheritedBox", ThreadStates::inheritedBox)
            .run("holderIdiom", Idioms::holderIdiom)
            .run("enumSingleton", Idioms::enumSingleton)
            .run("doubleChecked", Idioms::doubleChecked)
            .run("finalPublication", Idioms::finalPublication)
            .run("recordPublication", Idioms::recordPublication)
            .run("genericBridge", Idioms::genericBridge)
            .run("defaultMethod", Idioms::defaultMethod)
            .run("innerClassOuter", Idioms::innerClassOuter)
            .run("anonymousCallback", Idioms::anonymousCallback)
            .run("copyOnWriteListeners", Idioms::copyOnWriteListeners)
            .run("propertyChange", Idioms::propertyChange)
            .run("stringSwitch", Idioms::stringSwitch)
            .run("systemProperties", Idioms::systemProperties)
            .run("booleanProperty", Idioms::booleanProperty)
            .run("propertiesObject", Idioms::propertiesObject)
            .run("localeDefault", Idioms::localeDefault)
            .run("zoneDefault", Idioms::zoneDefault)
            .run("logHandler", Idioms::logHandler)
            .run("logLevel", Idioms::logLevel)
            .run("serviceLoader", Idioms::serviceLoader)
            .run("tempFile", Channels::tempFile)
            .run("fileLength", Channels::fileLength)
            .run("fileChannel", Channels::fileChannel)
            .run("mappedFile", Channels::mappedFile)
            .run("nioPipe", Channels::nioPipe)
            .run("socketChannel", Channels::socketChannel)
            .run("datagram", Channels::datagram)
            .run("socketClosed", Channels::socketClosed)
            .run("process", Channels::process)
            .run("processExit", Channels::processExit)
            .run("pipedObject", Channels::pipedObject)
            .run("bufferedLines", Channels::bufferedLines)
            .run("serialised", Channels::serialised)
            .run("reflectedConstructor", Channels::reflectedConstructor)
            .run("proxy", Channels::proxy)
            .run("referenceQueue", Channels::referenceQueue)
            .run("cleaner", Channels::cleaner)
            .run("shutdownHook", Channels::shutdownHook)
            .run("weakGet", Channels::weakGet)
            .run("sharedRandom", Channels::sharedRandom)
            .run("dateFormat", Channels::dateFormat)
            .run("calendarFlag", Channels::calendarFlag)
            .run("resourceBundle", Channels::resourceBundle);
    }

    static boolean is(Object monitor, String[] state) {
        synchronized (monitor) {
            switch (state[0]) {
                case "yes": return true;
                default: return false;
            }
        }
    }

    static boolean later(Object monitor, Calendar calendar) {
        synchronized (monitor) {
            return calendar.getTimeInMillis() == 5;
        }
    }

    static boolean has(Object monitor, Map<String, ResourceBundle> bundles) {
        synchronized (monitor) {
            ResourceBundle bundle = bundles.get("k");
            return bundle != null && bundle.getString("a").equals("b");
        }
    }

    /** Texts of a program. */
    static final class Texts extends ListResourceBundle {
        @Override
        protected Object[][] getContents() {
            return new Object[][] {{"a", "b"}};
        }
    }

    /** Box that the first use of the class makes. */
    static final class Holder {
        static final Box INSTANCE = Box.full();
    }

    /** Single object. */
    enum Single {
        ONE;

        private int count;

        synchronized void add() {
            count++;
        }
    }

    /** Box that is made once. */
    static final class Lazy {
        private volatile Box box;

        Box get() {
            Box b = box;
            if (b == null) {
                synchronized (this) {
                    b = box;
                    if (b == null) {
                        b = Box.full();
                        box = b;
                    }
                }
            }
            return b;
        }
    }

    /** Object with a final field. */
    static final class Final {
        final Box box;

        Final(Box box) {
            this.box = box;
        }
    }

    record Pair(Box box, int number) {
    }

    /** Slot of any type. */
    abstract static class Slot<T> {
        abstract void put(T item);

        abstract T get();
    }

    /** Slot of a box, with bridge methods. */
    static final class BoxSlot extends Slot<Box> {
        private volatile Box box;

        @Override
        void put(Box item) {
            box = item;
        }

        @Override
        Box get() {
            return box;
        }
    }

    /** Slot with methods of an interface. */
    interface Named {
        List<Box> boxes();

        default void store(Box box) {
            synchronized (boxes()) {
                boxes().add(box);
            }
        }

        default Box load() {
            synchronized (boxes()) {
                return boxes().isEmpty() ? null : boxes().get(0);
            }
        }
    }

    record NamedSlot(List<Box> boxes) implements Named {
        NamedSlot() {
            this(new ArrayList<>());
        }
    }

    /** Object with an inner one. */
    static final class Outer {
        private Box box;

        synchronized Box get() {
            return box;
        }

        final class Inner {
            void put(Box b) {
                synchronized (Outer.this) {
                    box = b;
                }
            }
        }
    }
}
