package foretell.agent;

import foretell.rt.RecordedObject;
import java.lang.instrument.Instrumentation;
import java.lang.reflect.Method;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * Named modules of the program, which must read the module of the runtime: that of the classes on
 * the boot class path. By reflection, since Java 8 has no modules.
 */
final class Modules {
    private Modules() {
    }

    /** Returns the packages that the runtime looks into. */
    private static Map<String, Set<Object>> opens(Object runtime) {
        Map<String, Set<Object>> opens = new HashMap<String, Set<Object>>();
        opens.put("java.util", Collections.singleton(runtime));
        opens.put("java.util.concurrent", Collections.singleton(runtime));
        opens.put("java.util.concurrent.locks", Collections.singleton(runtime));
        return opens;
    }

    /** Lets every module of the program read the runtime, and the runtime use the platform. */
    static void readRuntime(Instrumentation instrumentation) throws Exception {
        Method getModule;
        try {
            getModule = Class.class.getMethod("getModule");
        } catch (NoSuchMethodException e) {
            // Java 8: there are no modules.
            return;
        }
        Object runtime = getModule.invoke(RecordedObject.class);
        Class<?> module = Class.forName("java.lang.Module");
        Class<?> layer = Class.forName("java.lang.ModuleLayer");
        Method redefine = Instrumentation.class.getMethod("redefineModule", module, Set.class,
            Map.class, Map.class, Set.class, Map.class);
        redefine.invoke(instrumentation, getModule.invoke(Object.class), Collections.emptySet(),
            Collections.singletonMap("jdk.internal.misc", Collections.singleton(runtime)),
            opens(runtime), Collections.emptySet(), Collections.emptyMap());
        Object boot = layer.getMethod("boot").invoke(null);
        for (Object m : (Set<?>) layer.getMethod("modules").invoke(boot)) {
            if (module.getMethod("getClassLoader").invoke(m) != null) {
                redefine.invoke(instrumentation, m, Collections.singleton(runtime),
                    Collections.emptyMap(), Collections.emptyMap(), Collections.emptySet(),
                    Collections.emptyMap());
            }
        }
    }
}
