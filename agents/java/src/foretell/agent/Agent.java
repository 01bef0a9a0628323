package foretell.agent;

import foretell.rt.Options;
import foretell.rt.Startup;
import java.lang.instrument.Instrumentation;

/** Where the virtual machine starts the agent, before the program. */
public final class Agent {
    private Agent() {
    }

    public static void premain(String optionsFile, Instrumentation instrumentation) throws Exception {
        Options options = Options.read(optionsFile);
        if (!Startup.createLog(options)) {
            // A second virtual machine with the same options: not recorded.
            return;
        }
        Tables tables = new Tables(options.log + ".tables");
        PlatformRewriter platform = new PlatformRewriter();
        instrumentation.addTransformer(platform, true);
        for (Class<?> c : platform.alreadyLoaded(instrumentation.getAllLoadedClasses())) {
            instrumentation.retransformClasses(c);
        }
        platform.reportMissing();
        instrumentation.addTransformer(new ClassRewriter(options, tables), false);
        Startup.start(options);
    }
}
