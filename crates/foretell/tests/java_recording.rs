//! Recording and replaying Java programs from the command line.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const FORETELL: &str = env!("CARGO_BIN_EXE_foretell");

/// A temporary directory with compiled programs.
struct Workshop(tempfile::TempDir);

impl Workshop {
    fn new() -> Workshop {
        Workshop(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, program: &str, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut stdin = child.stdin.take().expect("it has an input");
        // A program that does not read its input may have ended already.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        child.wait_with_output().expect("it ends")
    }

    /// Runs the command, which must end with this exit status.
    fn expect(&self, status: i32, arguments: &[&str]) -> Output {
        let output = self.run(FORETELL, arguments, "");
        let said = format!("{arguments:?}\n{}\n{}", stdout(&output), stderr(&output));
        assert_eq!(output.status.code(), Some(status), "{said}");
        output
    }

    fn compile(&self, name: &str, source: &str) {
        fs::write(self.path(name), source).expect("it can be written");
        let output = self.run("javac", &["-g", name], "");
        assert!(output.status.success(), "{}", stderr(&output));
    }

    /// Compiles one of the programs beside this file.
    fn compile_file(&self, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java").join(name);
        self.compile(name, &fs::read_to_string(path).expect("it is there"));
    }

    /// Returns the trace of a run as text.
    fn trace(&self, options: &[&str], command: &[&str]) -> String {
        let arguments = [&["record", "-o", "run.std"], options, &["--"], command].concat();
        self.expect(0, &arguments);
        fs::read_to_string(self.path("run.std")).expect("a trace")
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the program's own lines on standard error.
fn own_stderr(output: &Output) -> String {
    let said = stderr(output);
    said.lines().filter(|l| !l.starts_with("foretell: ")).map(|l| format!("{l}\n")).collect()
}

#[test]
fn program_with_all_features_is_unharmed() {
    let w = Workshop::new();
    w.compile_file("Robust.java");
    let java = ["-Xverify:all", "-XX:-PrintWarnings", "-Xmx200m", "Robust"];
    let plain = w.run("java", &java, "hello\n");
    assert_eq!(plain.status.code(), Some(3), "{}", stderr(&plain));
    for seed in ["0", "7"] {
        let record = ["record", "--seed", seed, "-o", "run.ft", "--", "java"];
        let recorded = w.run(FORETELL, &[&record[..], &java].concat(), "hello\n");
        // A thread dies by an exception that nothing catches: the run has failed.
        assert_eq!(recorded.status.code(), Some(1), "{}", stderr(&recorded));
        assert_eq!(stdout(&recorded), stdout(&plain));
        let own = own_stderr(&recorded);
        assert!(own.starts_with(&stderr(&plain)) && own.contains("observed-1"), "{own}");
        let told = stderr(&recorded);
        assert!(told.contains("uncaught java.lang.IllegalStateException: thread dies"), "{told}");
        assert!(!told.contains("was left alone"), "{told}");
    }
}

#[test]
fn correct_uses_of_java_util_concurrent_have_no_finding() {
    let w = Workshop::new();
    w.compile_file("Correct.java");
    w.compile_file("Handles.java");
    for (seed, program) in [("0", "Correct"), ("1", "Handles"), ("2", "Correct"), ("3", "Handles")]
    {
        let record = ["record", "--seed", seed, "--quantum", "20", "-o", "run.ft", "--"];
        let recorded = w.expect(0, &[&record[..], &["java", "-Xverify:all", program]].concat());
        let told = stderr(&recorded);
        assert!(!told.contains("dropped"), "{told}");
        let analyses = "race,atomicity,serializability,deadlock";
        w.expect(0, &["predict", "--analyses", analyses, "run.ft"]);
    }
}

#[test]
fn same_seed_gives_the_same_trace() {
    let w = Workshop::new();
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/java/BoundedBuffer.java");
    w.compile("BoundedBuffer.java", &fs::read_to_string(example).expect("it is there"));
    let trace = |seed| w.trace(&["--seed", seed, "--quantum", "5"], &["java", "BoundedBuffer"]);
    let first = trace("5");
    assert!(first.contains("|woken(BoundedBuffer@BoundedBuffer.java:"), "{first}");
    assert_eq!(first, trace("5"));
    assert_ne!(first, trace("6"));
}

/// A thread that is notified runs before the thread that passed the baton to it has woken it, and
/// takes the monitor in which it was to be woken.
#[test]
fn notified_threads_do_not_hold_up_the_program() {
    let w = Workshop::new();
    let example =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/java/BoundedBuffer.java");
    let source = fs::read_to_string(example).expect("it is there");
    let longer = source.replace("int n = 6;", "int n = 4000;");
    assert_ne!(source, longer);
    w.compile("BoundedBuffer.java", &longer);
    for seed in ["1", "2", "3"] {
        let options = ["record", "-q", "--seed", seed, "--quantum", "2", "-o", "run.ft"];
        w.expect(0, &[&options[..], &["--", "java", "BoundedBuffer"]].concat());
    }
}

#[test]
fn killed_program_leaves_a_trace() {
    let w = Workshop::new();
    w.compile(
        "Killed.java",
        "public class Killed {\n static int x;\n public static void main(String[] a) throws Exception {\n\
         Thread t = new Thread(() -> { x = 1; });\n t.start();\n t.join();\n x = 2;\n\
         if (a.length > 0) Runtime.getRuntime().halt(9);\n\
         new ProcessBuilder(\"kill\", \"-9\", \"\" + ProcessHandle.current().pid()).start();\n\
         Thread.sleep(60000);\n }\n}\n",
    );
    for (status, argument) in [(1, None), (9, Some("halt"))] {
        let command = ["record", "-o", "run.std", "--", "java", "Killed"];
        w.expect(status, &[&command[..], argument.as_slice()].concat());
        let trace = fs::read_to_string(w.path("run.std")).expect("a trace");
        assert!(trace.contains("T0|w(Killed.x=2)|Killed.java:7|Killed.main"), "{trace}");
    }
}

/// A run that fails is a finding of its own: a deadlock of monitors, an exception that nothing
/// catches, in `main` and in a thread. A handler of the program's own catches.
#[test]
fn failure_of_the_recorded_run_is_observed() {
    let w = Workshop::new();
    w.compile(
        "Fails.java",
        "public class Fails {\n  static int x;\n  static final Object a = new Object(), b = new Object();\n\
         static void both(Object p, Object q) throws Exception {\n\
         synchronized (p) { Thread.sleep(50); synchronized (q) { x++; } } }\n\
         static void run(Runnable r) throws Exception {\n\
         Thread t = new Thread(r); t.start(); t.join(); }\n\
         public static void main(String[] s) throws Exception {\n\
         run(() -> x++);\n switch (s[0]) {\n\
         case \"deadlock\":\n\
         Thread t = new Thread(() -> { try { both(a, b); } catch (Exception e) { } });\n\
         Thread u = new Thread(() -> { try { both(b, a); } catch (Exception e) { } });\n\
         t.start(); u.start(); t.join(); u.join(); break;\n\
         case \"main\": throw new IllegalStateException(\"bad\");\n\
         case \"assert\": run(() -> { throw new AssertionError(\"sum\"); }); break;\n\
         case \"handled\":\n\
         Thread.setDefaultUncaughtExceptionHandler((where, e) -> { });\n\
         run(() -> { throw new IllegalStateException(\"caught\"); }); break;\n\
         case \"exit\": System.exit(4);\n } } }\n",
    );
    for (how, status, wanted) in [
        ("deadlock", 1, "The recorded run ended in a deadlock: "),
        ("main", 1, "java.lang.IllegalStateException: bad in Fails.main at Fails.java:15"),
        ("assert", 1, "An assertion failed in the recorded run: sum in "),
        ("handled", 0, ""),
        ("exit", 4, ""),
    ] {
        let record = ["record", "-o", "run.ft", "--", "java", "Fails", how];
        let output = w.expect(status, &record);
        let text = stderr(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(wanted), "{how}: {text}");
        assert_eq!(text.contains("observed-1"), status == 1, "{how}: {text}");
        if how == "deadlock" {
            assert!(
                text.contains("Thread-1 waits for ") && text.contains(", held by Thread-2"),
                "{text}"
            );
            assert!(
                text.contains("Thread-2 waits for ") && text.contains(", held by Thread-1"),
                "{text}"
            );
        }
        if status == 1 {
            w.expect(1, &["predict", "run.ft", "--json", "run.json"]);
            let verified = stdout(&w.expect(0, &["verify", "run.ft", "run.json"]));
            assert!(verified.contains("observed-1: accepted"), "{verified}");
        }
    }
}

#[test]
fn values_fields_and_stacks_are_recorded() {
    let w = Workshop::new();
    w.compile(
        "Parts.java",
        "public class Parts {\n static class A { volatile int v; long[] l = new long[2]; }\n\
         static double d;\n static void set(A a) {\n  a.v = 3;\n  a.l[1] = -5L;\n  d = 0;\n }\n\
         public static void main(String[] args) throws Exception {\n  A a = new A();\n\
         Thread t = new Thread(() -> set(a), \"worker\");\n  t.start();\n  t.join();\n\
         System.out.println(a.v + a.l[1] + d);\n }\n}\n",
    );
    let trace = w.trace(&[], &["java", "Parts"]);
    let stack = "Parts.java:5|Parts.set Parts.java:11 < Parts.lambda$main$0";
    assert!(trace.contains(&format!("T1|aw(Parts$A@Parts.java:10#1.v=3)|{stack}\n")), "{trace}");
    assert!(trace.contains("T1|w(long[]@Parts.java:2#1[1]=-5)|Parts.java:6|"), "{trace}");
    assert!(trace.contains("T0|r(Parts.d=0)|Parts.java:14|Parts.main\n"), "{trace}");
    assert!(
        trace.contains("#! name T1=worker\n") && trace.contains("#! name T0=main\n"),
        "{trace}"
    );
}

#[test]
fn handles_and_references_are_the_field_and_the_method() {
    let w = Workshop::new();
    w.compile_file("Handles.java");
    let trace = w.trace(&[], &["java", "Handles"]);
    for event in [
        "|au(Handles@Handles.java:14#1.x=0>1)|",
        "|au(Handles@Handles.java:14#1.y=0>2)|",
        "|au(Handles.st=0>1)|",
        "|au(int[]@Handles.java:14#1[1]=0>5)|",
        "|au(Handles@Handles.java:14#1.up=0>1)|",
        "|au(Handles@Handles.java:14#1.y=2>5)|",
        "|au(Handles@Handles.java:14#1.y=5>4)|",
        "|ar(Handles@Handles.java:14#1.y=4)|",
        "|au.rlx(Handles@Handles.java:14#1.y=4>-7)|",
        "|aw.rel(Handles@Handles.java:14#1.y=0)|",
        "|au(AtomicInteger@Handles.java:14#1=0>1)|",
        "|acq(ReentrantLock@Handles.java:14#1)|",
    ] {
        assert!(trace.contains(event), "{event}: {trace}");
    }
    assert!(!trace.contains("opaque"), "{trace}");
}

/// Returns the number of violations if these operations fail (see the program), and the trace.
fn after_attempts(w: &Workshop, cell: &str, what_follows: &str, analysis: &str) -> (usize, String) {
    let options = ["--quantum", "100000", "--blocks", "markers"];
    let trace = w.trace(&options, &["java", "Attempts", cell, what_follows]);
    assert!(trace.contains("|acq(attempts at "), "the attempt fails: {trace}");
    let predict = ["predict", "--all", "--analyses", analysis, "run.std"];
    let said = stdout(&w.run(FORETELL, &predict, ""));
    let count = said.lines().filter(|l| l.starts_with(analysis) && l.contains(": ")).count();
    (count, format!("{cell} {what_follows}\n{trace}\n{said}"))
}

#[test]
fn violation_through_a_failed_update_is_not_predicted() {
    let w = Workshop::new();
    w.compile_file("Attempts.java");
    let exchanges = ["Int", "Ref", "Array", "Updater", "Handle", "Element"];
    let maps = ["PutIfAbsent", "ComputeIfAbsent", "Remove", "Replace"];
    let queues = ["Poll", "RemoveFirst", "Offer", "Add"];
    for cell in [&exchanges[..], &maps, &queues].concat() {
        let (count, said) = after_attempts(&w, cell, "change", "serializability");
        assert_eq!(count, 0, "{said}");
        assert!(said.contains("|aw(AtomicInteger@Attempts.java:"), "{said}");
    }
}

#[test]
fn thread_that_does_not_read_a_failed_update_goes_on() {
    let w = Workshop::new();
    w.compile_file("Attempts.java");
    for cell in ["Int", "Ref", "Array", "Updater", "Handle", "Element", "PutIfAbsent"] {
        let (count, said) = after_attempts(&w, cell, "set", "serializability");
        assert_eq!(count, 1, "{said}");
    }
}

#[test]
fn failed_update_between_two_writes_of_a_block_is_predicted() {
    let w = Workshop::new();
    w.compile_file("Attempts.java");
    for cell in ["Int", "PutIfAbsent"] {
        let (count, said) = after_attempts(&w, cell, "between", "atomicity");
        assert_eq!(count, 1, "{said}");
    }
}

#[test]
fn blind_put_comes_after_earlier_puts() {
    let w = Workshop::new();
    w.compile_file("Puts.java");
    // A finding that depends on an earlier put is not predicted without it; a put between a look
    // and a put is.
    for (what, analysis, expected) in [("look", "race", 0), ("act", "atomicity", 1)] {
        let options = ["--quantum", "100000", "--blocks", "markers"];
        let trace = w.trace(&options, &["java", "Puts", what]);
        assert!(trace.contains("|aw(ConcurrentHashMap@Puts.java:"), "{trace}");
        let predict = ["predict", "--all", "--analyses", analysis, "run.std"];
        let said = stdout(&w.run(FORETELL, &predict, ""));
        let count = said.lines().filter(|l| l.starts_with(analysis) && l.contains(": ")).count();
        assert_eq!(count, expected, "{what}: {trace}\n{said}");
    }
}

#[test]
fn blocks_and_classes_are_chosen() {
    let w = Workshop::new();
    w.compile(
        "Choice.java",
        "public class Choice {\n @interface Whole { }\n static class Quiet { static int q; }\n static int x;\n\
         static void bump() { x++; }\n @Whole static void other() { x++; }\n\
         public static void main(String[] a) throws Exception {\n\
         Runnable r = () -> { bump(); other(); Quiet.q++; };\n Thread t = new Thread(r), u = new Thread(r);\n\
         t.start(); u.start(); t.join(); u.join();\n }\n}\n",
    );
    let java = ["java", "Choice"];
    let trace = w.trace(&[], &java);
    assert!(!trace.contains("begin") && trace.contains("Choice$Quiet.q"), "{trace}");
    let trace = w.trace(&["--atomic-functions", "Choice.bump"], &java);
    assert_eq!(trace.matches("begin(Choice.bump)").count(), 2, "{trace}");
    let trace = w.trace(&["--atomic-annotations", "Whole"], &java);
    assert_eq!(trace.matches("begin(Choice.other)").count(), 2, "{trace}");
    let none = ["--atomic-annotations", "Whole", "--blocks", "locks"];
    assert!(!w.trace(&none, &java).contains("begin"));
    // Accesses of the excluded class are not recorded, accesses of other classes to it are.
    let trace = w.trace(&["--include", "Other*"], &java);
    assert!(!trace.contains("Choice.x"), "{trace}");
    let trace = w.trace(&["--exclude", "Choice"], &java);
    assert!(!trace.contains("Choice.x"), "{trace}");
}

/// A pattern that matches nothing changes nothing; excluded code still orders threads.
#[test]
fn selection_of_classes_orders_threads_by_excluded_code_only() {
    let w = Workshop::new();
    w.compile_file("Selected.java");
    let predict = |pattern: &str, seed: &str, command: &[&str]| {
        let select = ["--exclude", pattern, "--seed", seed];
        let trace = w.trace(&select, &[&["java"], command].concat());
        (trace, w.run(FORETELL, &["predict", "--analyses", "race", "run.std"], ""))
    };
    for pattern in ["other.*", "Selected$Hidden*"] {
        let found: String = ["0", "1"]
            .map(|seed| stdout(&predict(pattern, seed, &["Selected", "late"]).1))
            .concat();
        for kind in ["Counter", "Reference", "Interface", "Reflected"] {
            assert!(found.contains(&format!("`Selected${kind}")), "{pattern}, {kind}: {found}");
        }
        let (trace, predicted) = predict(pattern, "0", &["Selected"]);
        let said = stdout(&predicted);
        assert_eq!(predicted.status.code(), Some(0), "{pattern}: {said}\n{trace}");
    }
}

#[test]
fn class_that_cannot_be_rewritten_is_named() {
    let w = Workshop::new();
    let body = "x++; ".repeat(6000);
    let source = format!(
        "public class Large {{\n static int x;\n static void f() {{ {body} }}\n\
         public static void main(String[] a) {{ f(); System.out.println(x); }}\n}}\n"
    );
    w.compile("Large.java", &source);
    let recorded = w.expect(0, &["record", "-o", "run.ft", "--", "java", "Large"]);
    assert_eq!(stdout(&recorded), "6000\n");
    assert!(
        stderr(&recorded).contains("foretell: Large was left alone: "),
        "{}",
        stderr(&recorded)
    );
}

#[test]
fn jar_is_checked_and_a_departure_is_reported() {
    let w = Workshop::new();
    w.compile(
        "Two.java",
        "public class Two {\n static int x;\n static void one() { x = 1; }\n static void two() { x = 2; }\n\
         public static void main(String[] a) throws Exception {\n\
         Thread t = new Thread(() -> { if (a.length > 0) two(); else one(); });\n\
         t.start(); x = 3; t.join();\n }\n}\n",
    );
    w.run("sh", &["-c", "jar cfe two.jar Two *.class"], "");
    let checked = w.expect(1, &["check", "two.jar"]);
    assert!(stdout(&checked).contains("Two.java:3"), "{}", stdout(&checked));
    w.expect(0, &["record", "-o", "run.ft", "--", "java", "-jar", "two.jar"]);
    w.expect(0, &["replay", "run.ft", "race-1", "--", "java", "-jar", "two.jar"]);
    let left = w.expect(2, &["replay", "run.ft", "race-1", "--", "java", "-jar", "two.jar", "x"]);
    let told = stdout(&left);
    assert!(told.contains("left the schedule: expected Write number 0 of thread 1"), "{told}");
    assert!(told.contains("Two.java:4"), "{told}");
}

#[test]
fn race_is_confirmed_on_the_same_object_only() {
    let w = Workshop::new();
    // The thread that is joined first has no step.
    let source = |class: &str, second: &str| {
        format!(
            "public class {class} {{\n int x;\n public static void main(String[] a) throws Exception {{\n\
             int second = {second};\n\
             {class}[] all = {{new {class}(), new {class}()}};\n\
             Thread idle = new Thread(() -> {{}});\n idle.start(); idle.join();\n\
             Thread t = new Thread(() -> {{ all[0].x = 1; }});\n\
             t.start(); all[second].x = 3; t.join();\n }}\n}}\n"
        )
    };
    let check = |class: &str, second: &str, status: i32| {
        let name = format!("{class}.java");
        fs::write(w.path(&name), source(class, second)).expect("it can be written");
        let output = w.expect(status, &["check", "--runs", "1", "--json", "findings.json", &name]);
        let findings = fs::read_to_string(w.path("findings.json")).expect("findings");
        let findings: serde_json::Value = serde_json::from_str(&findings).expect("JSON");
        let found = findings["findings"].as_array().cloned().unwrap_or_default();
        let race = found.iter().find(|f| f["kind"] == "race").cloned().unwrap_or_default();
        (race, stdout(&output))
    };
    let (same, said) = check("Same", "0", 1);
    assert_eq!(same["confirmation"], "confirmed", "{said}");
    // Runs after the first one touch another object.
    let first = "new java.io.File(\"seen\").createNewFile() ? 0 : 1";
    let (other, said) = check("Other", first, 0);
    assert_eq!(other["confirmation"], "unconfirmed", "{said}");
    let reason = other["replay"]["text"].as_str().unwrap_or_default();
    assert!(reason.contains("Other.x of object") && reason.contains("not the same"), "{reason}");
}

#[test]
fn ant_runs_unharmed() {
    let w = Workshop::new();
    fs::create_dir(w.path("src")).expect("a directory");
    fs::write(w.path("src/A.java"), "class A { int x; }\n").expect("it can be written");
    fs::write(
        w.path("build.xml"),
        "<project default='all'><target name='all'><mkdir dir='out'/>\n\
         <parallel threadCount='2'><echo message='one'/><copy todir='out'><fileset dir='src'/></copy>\n\
         <concat destfile='out/all.txt'><fileset dir='src'/></concat></parallel>\n\
         <checksum file='out/all.txt' property='sum'/><echo message='sum ${sum}'/>\n\
         </target></project>\n",
    )
    .expect("it can be written");
    let launcher = "/usr/share/ant/lib/ant-launcher.jar";
    let ant = [
        "-Xverify:all",
        "-XX:-PrintWarnings",
        "-cp",
        launcher,
        "org.apache.tools.ant.launch.Launcher",
        "-q",
    ];
    let plain = w.run("java", &ant, "");
    assert!(plain.status.success(), "{}", stderr(&plain));
    let recorded = w.expect(0, &[&["record", "-o", "run.ft", "--", "java"][..], &ant].concat());
    let without_time = |output: &Output| {
        stdout(output)
            .lines()
            .filter(|l| !l.starts_with("Total time"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(without_time(&recorded), without_time(&plain));
    assert!(without_time(&plain).contains("[echo] sum "), "{}", stdout(&plain));
    w.expect(0, &["stats", "run.ft"]);
}

/// Methods of `Hidden.java` that begin like this, or that do not.
fn hand_overs(racy: bool) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/java/Hidden.java");
    let source = fs::read_to_string(path).expect("it is there");
    let names = source.lines().filter_map(|line| {
        line.strip_prefix("    static void ")?.strip_suffix("() throws Exception {")
    });
    names.filter(|name| name.starts_with("racy") == racy).map(str::to_owned).collect()
}

/// The virtual machines of this system.
fn virtual_machines() -> Vec<String> {
    let found = fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let found = found.filter_map(|entry| entry.path().join("bin/java").canonicalize().ok());
    let paths: std::collections::BTreeSet<PathBuf> = found.collect();
    paths.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect()
}

#[test]
fn code_that_is_not_recorded_orders_threads() {
    let w = Workshop::new();
    w.compile_file("Hidden.java");
    let names = hand_overs(false);
    assert!(names.len() > 40, "{names:?}");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let installed = virtual_machines();
    let runs = [("java", "1"), ("java", "2")];
    for (java, seed) in runs.into_iter().chain(installed.iter().map(|java| (&**java, "3"))) {
        let command = [java, "-Xverify:all", "-XX:-PrintWarnings", "Hidden"];
        let record = ["record", "--seed", seed, "--quantum", "20", "-o", "run.ft", "--"];
        let output = w.expect(0, &[&record[..], &command, &names].concat());
        assert_eq!(stdout(&output), format!("{} hand-overs\n", names.len()));
        let analyses = "race,atomicity,serializability,transactions,deadlock";
        w.expect(0, &["predict", "run.ft", "--analyses", analyses]);
    }
    let trace = w.trace(&[], &["java", "Hidden", "exchanger"]);
    assert!(trace.contains("au(hidden:Exchanger@Hidden.java:"), "{trace}");
    assert!(trace.contains("kept calls java.util.concurrent.Exchanger"), "{trace}");
}

#[test]
fn races_beside_code_that_is_not_recorded_are_found() {
    let w = Workshop::new();
    w.compile_file("Hidden.java");
    for name in hand_overs(true) {
        w.expect(0, &["record", "-o", "run.ft", "--", "java", "Hidden", &name]);
        let output = w.expect(1, &["predict", "run.ft", "--analyses", "race"]);
        assert!(stdout(&output).contains("race-1"), "{name}");
    }
}
