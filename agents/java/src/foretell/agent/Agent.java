package foretell.agent;

import foretell.rt.Options;
import foretell.rt.ProcessFiles;
import foretell.rt.Startup;
import foretell.rt.Unexplored;
import java.lang.instrument.Instrumentation;

/** Entry point of the agent. The virtual machine calls it before the program starts. */
public final class Agent {
    private Agent() {
    }

    public static void premain(String optionsFile, Instrumentation instrumentation)
                               throws Exception {
        Options options = Options.read(optionsFile);
        if (options.below) {
            if (ProcessFiles.isTool()) {
                return;
            }
            ProcessFiles.write(options.log);
        }
        Modules.readRuntime(instrumentation);
        if (!Startup.createLog(options)) {
            // Another virtual machine with these options has the log: this one is not recorded.
            return;
        }
        if (!options.below) {
            Unexplored.begin(options);
        }
        Tables tables = new Tables(options.log + ".tables");
        PlatformRewriter platform = new PlatformRewriter();
        PlatformRewriter.load();
        instrumentation.addTransformer(platform, true);
        for (Class<?> c : platform.alreadyLoaded(instrumentation.getAllLoadedClasses())) {
            instrumentation.retransformClasses(c);
        }
        platform.reportMissing();
        instrumentation.addTransformer(new ClassRewriter(options, tables), false);
        Startup.start(options);
    }
}
