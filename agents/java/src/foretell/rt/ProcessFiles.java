package foretell.rt;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** Files of one of several recorded virtual machines: its log, and what it was started with. */
public final class ProcessFiles {
    /** Main classes of build tools, which are not recorded: only what they start is. */
    private static final String[] TOOLS = {
        "org.codehaus.plexus.classworlds.launcher.Launcher", "org.apache.maven.wrapper.",
        "org.gradle.", "org.apache.tools.ant.launch.Launcher", "org.apache.tools.ant.Main",
        "com.sun.tools.", "jdk.", "sun.", "kotlin.", "org.jetbrains.kotlin.", "sbt.", "xsbt.",
    };

    private ProcessFiles() {
    }

    /** Returns a path for the log of this virtual machine in a directory. */
    static String log(String directory) {
        String pid;
        try {
            pid = new File("/proc/self").getCanonicalFile().getName();
        } catch (IOException e) {
            pid = "0";
        }
        return directory + "/" + String.format("%020d", System.nanoTime()) + "-" + pid;
    }

    /** Whether this virtual machine runs a build tool. */
    public static boolean isTool() {
        String command = System.getProperty("sun.java.command", "");
        for (String tool : TOOLS) {
            if (command.startsWith(tool)) {
                return true;
            }
        }
        return command.isEmpty();
    }

    /** Writes the command line, the environment and the directory beside the log. */
    public static void write(String log) throws IOException {
        copy(read("/proc/self/cmdline"), log + ".cmdline");
        copy(read("/proc/self/environ"), log + ".environ");
        copy(new File("").getAbsolutePath().getBytes("UTF-8"), log + ".cwd");
    }

    private static byte[] read(String path) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        InputStream in = new FileInputStream(path);
        try {
            byte[] buffer = new byte[1 << 14];
            for (int n = in.read(buffer); n > 0; n = in.read(buffer)) {
                bytes.write(buffer, 0, n);
            }
        } finally {
            in.close();
        }
        return bytes.toByteArray();
    }

    private static void copy(byte[] bytes, String path) throws IOException {
        FileOutputStream out = new FileOutputStream(path);
        try {
            out.write(bytes);
        } finally {
            out.close();
        }
    }
}
