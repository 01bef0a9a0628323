import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;

/** Runner of scenarios: static methods without parameters. */
public class Scenarios {
    interface Body {
        void run() throws Exception;
    }

    static volatile int sunk;

    static void sink(int n) {
        sunk = n;
    }

    /** Runs the scenarios of a class that are named, or all of them. */
    static void run(Class<?> type, String[] names) throws Exception {
        List<String> wanted = Arrays.asList(names);
        // The virtual machine has the methods in any order.
        TreeMap<String, Method> scenarios = new TreeMap<>();
        for (Method m : type.getDeclaredMethods()) {
            boolean scenario = !m.isSynthetic() && m.getParameterCount() == 0
                && m.getReturnType() == void.class;
            if (scenario) {
                scenarios.put(m.getName(), m);
            }
        }
        for (Method m : scenarios.values()) {
            if (names.length == 0 || wanted.contains(m.getName())) {
                try {
                    m.invoke(null);
                } catch (InvocationTargetException e) {
                    System.err.println(m.getName() + ": " + e.getCause());
                }
            }
        }
    }

    static Thread start(Body body) {
        Thread t = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                // What a bug does to a scenario is not the subject.
                sink(-1);
            }
        });
        t.start();
        return t;
    }

    /** Runs two threads, the second one second in most schedules. */
    static void both(Body a, Body b) throws Exception {
        Thread s = start(a);
        Thread t = start(b);
        s.join();
        t.join();
    }
}
