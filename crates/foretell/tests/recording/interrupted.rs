//! Signals to `foretell` and to the program: the trace is saved, and nothing is left behind.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::workshop::{FORETELL, Workshop, stderr};

/// Two threads count until they are stopped. Arguments: `h` for a handler of SIGTERM that lets the
/// program end with status 7, `i` to ignore SIGTERM. The file `ready` appears when they run.
const COUNTS: &str = "#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\n\
    static int x; static volatile sig_atomic_t stop;\n\
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
    static void on_term(int n) { stop = n; }\n\
    static void count(void) { pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); usleep(2000); }\n\
    static void *f(void *a) { while (!stop) count(); return a; }\n\
    int main(int n, char **a) { pthread_t t; char mode = n > 1 ? a[1][0] : '-';\n\
    if (mode == 'h') signal(SIGTERM, on_term);\n\
    if (mode == 'i') signal(SIGTERM, SIG_IGN);\n\
    pthread_create(&t, 0, f, 0); count(); count(); count(); fclose(fopen(\"ready\", \"w\"));\n\
    while (!stop) count(); pthread_join(t, 0); return 7; }\n";

/// Calls `f` until it returns a value.
fn wait_for<T>(what: &str, mut f: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(value) = f() {
            return value;
        }
        assert!(Instant::now() < end, "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn exists(path: &Path) -> Option<()> {
    path.exists().then_some(())
}

fn kill(signal: &str, process: u32) {
    let killed = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(killed.expect("kill runs").success());
}

/// Returns the processes that run the program of a directory.
fn programs(w: &Workshop) -> Vec<u32> {
    let exe = w.path("a").canonicalize().expect("it is built");
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let runs = |id: &u32| fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|path| path == exe);
    ids.filter(runs).collect()
}

fn build(w: &Workshop) {
    w.write("a.c", COUNTS);
    w.expect(0, &["cc", "a.c", "-pthread", "-o", "a"]);
}

/// Starts the command and waits until the program runs.
fn start(w: &Workshop, arguments: &[&str]) -> Child {
    let _ = fs::remove_file(w.path("ready"));
    let mut command = w.command(FORETELL);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it runs");
    wait_for("the program", || exists(&w.path("ready")));
    child
}

/// Returns the names of what `foretell` left in the directory.
fn left(w: &Workshop) -> Vec<String> {
    let entries = fs::read_dir(w.path(".")).expect("a directory").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(".foretell")).collect()
}

#[test]
fn signal_is_passed_to_the_program_and_the_trace_is_saved() {
    let w = Workshop::new();
    build(&w);
    for (signal, mode, status, ended) in [
        ("-TERM", "-", 143, "signal 15"),
        ("-INT", "-", 130, "signal 2"),
        ("-HUP", "-", 129, "signal 1"),
        ("-TERM", "h", 7, "exit 7"),
    ] {
        let child = start(&w, &["record", "-o", "a.std", "--", "./a", mode]);
        kill(signal, child.id());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(status), "{signal} {mode}: {}", stderr(&output));
        let trace = w.trace("a.std");
        assert!(trace.contains(&format!("ended={ended}")), "{signal} {mode}: {trace}");
        assert!(trace.contains("T1|w(x="), "{trace}");
        fs::remove_file(w.path("a.std")).expect("a trace");
        assert!(left(&w).is_empty() && programs(&w).is_empty());
    }
}

#[test]
fn timeout_ends_a_recording_with_a_trace() {
    let w = Workshop::new();
    build(&w);
    let output = w.run("timeout", &["2", FORETELL, "record", "-o", "a.std", "--", "./a"]);
    assert_eq!(output.status.code(), Some(124), "{}", stderr(&output));
    // `timeout` does not wait for the processes below its child.
    assert!(w.trace("a.std").contains("ended=signal 15"));
}

#[test]
fn program_that_ignores_the_signal_is_killed_at_the_second() {
    let w = Workshop::new();
    build(&w);
    let child = start(&w, &["record", "-o", "a.std", "--", "./a", "i"]);
    kill("-TERM", child.id());
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(programs(&w).len(), 1);
    kill("-TERM", child.id());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(137), "{}", stderr(&output));
    assert!(w.trace("a.std").contains("ended=signal 9"));
}

#[test]
fn killed_foretell_still_saves_the_trace() {
    let w = Workshop::new();
    build(&w);
    let mut child = start(&w, &["record", "-o", "a.std", "--", "./a"]);
    kill("-KILL", child.id());
    wait_for("the trace", || exists(&w.path("a.std")));
    assert!(w.trace("a.std").contains("ended=signal 15"));
    wait_for("the end of the program", || programs(&w).is_empty().then_some(()));
    wait_for("the end of the reader", || left(&w).is_empty().then_some(()));
    child.wait().expect("it is gone");
}

fn parent(process: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    fields[1].parse().expect("a parent")
}

#[test]
fn program_ends_with_its_reader_and_the_next_run_cleans_up() {
    let w = Workshop::new();
    build(&w);
    w.expect(2, &["record", "-o", "a.ft", "--", "true"]);
    let child = start(&w, &["record", "-o", "a.ft", "--", "./a"]);
    kill("-KILL", parent(programs(&w)[0]));
    wait_for("the end of the program", || programs(&w).is_empty().then_some(()));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(137));
    assert!(stderr(&output).contains("the recording was ended by signal 9"), "{}", stderr(&output));
    assert_eq!(left(&w).len(), 1, "the directory of the run");
    let child = start(&w, &["record", "-o", "a.ft", "--", "./a"]);
    assert_eq!(left(&w).len(), 1, "only that of this run");
    kill("-TERM", child.id());
    assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(143));
    assert!(left(&w).is_empty(), "{:?}", left(&w));
}

#[test]
fn program_ends_with_all_processes_of_a_recording() {
    let w = Workshop::new();
    build(&w);
    let child = start(&w, &["record", "-o", "a.ft", "--", "./a"]);
    let (supervisor, reader) = (child.id().to_string(), parent(programs(&w)[0]).to_string());
    let killed = Command::new("kill").args(["-KILL", &supervisor, &reader]).status();
    assert!(killed.expect("kill runs").success());
    wait_for("the end of the program", || programs(&w).is_empty().then_some(()));
    child.wait_with_output().expect("it is gone");
    w.write("b.c", "int main(void) { return 0; }\n");
    w.expect(0, &["cc", "b.c", "-o", "b"]);
    w.expect(0, &["record", "-o", "b.ft", "--", "./b"]);
    assert!(left(&w).is_empty(), "{:?}", left(&w));
}

#[test]
fn program_below_a_script_ends_with_its_reader_though_that_is_a_zombie() {
    let w = Workshop::new();
    build(&w);
    let script = "./a; exit 1";
    let mut child = start(&w, &["record", "-o", "a.ft", "--", "sh", "-c", script]);
    let shell = parent(programs(&w)[0]);
    // The supervisor is stopped: the killed reader stays a zombie.
    kill("-STOP", child.id());
    kill("-KILL", parent(shell));
    wait_for("the end of the program", || programs(&w).is_empty().then_some(()));
    kill("-CONT", child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(137));
}

#[test]
fn check_and_replay_end_with_what_they_have() {
    let w = Workshop::new();
    build(&w);
    let child = start(&w, &["check", "a.c", "-o", "c.std", "--limit", "100"]);
    kill("-TERM", child.id());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("foretell: interrupted"), "{}", stderr(&output));
    assert!(w.trace("c.std").contains("ended=signal 15"));
    let child = start(&w, &["record", "-o", "a.ft", "--", "./a"]);
    kill("-TERM", child.id());
    child.wait_with_output().expect("it ends");
    w.expect(0, &["predict", "a.ft", "--json", "a.json"]);
    let child = start(&w, &["replay", "a.ft", "nondeterminism-1", "--limit", "100", "--", "./a"]);
    kill("-TERM", child.id());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(stderr(&output), "foretell: interrupted\n");
    assert!(programs(&w).is_empty());
}

#[test]
fn steps_of_another_recording_are_refused() {
    let w = Workshop::new();
    w.build("dining.c");
    for (seed, name) in [("1", "one.ft"), ("2", "two.ft")] {
        w.expect(0, &["record", "-q", "--seed", seed, "-o", name, "--", "./program"]);
    }
    fs::copy(w.path("two.ft.steps"), w.path("one.ft.steps")).expect("steps");
    let told = stderr(&w.expect(2, &["replay", "one.ft", "race-1", "--", "./program"]));
    assert!(told.contains("one.ft.steps: not of this trace: "), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

/// A compiler that does not come to an end. The file `ready` appears when it runs.
const ENDLESS: &str = "#!/bin/sh\ncase \"$*\" in *-dumpversion*) echo 13; exit;; esac\n\
    touch ready\nexec sleep 600\n";

#[test]
fn check_that_is_ended_while_it_compiles_leaves_nothing() {
    let w = Workshop::new();
    w.write("a.c", "int main(void) { return 0; }\n");
    w.write("compiler", ENDLESS);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(w.path("compiler"), mode).expect("it is there");
    fs::create_dir(w.path("tmp")).expect("a directory");
    let left = || fs::read_dir(w.path("tmp")).expect("a directory").count();
    let check = |arguments: &[&str]| {
        let _ = fs::remove_file(w.path("ready"));
        let mut command = w.command(FORETELL);
        command.arg("check").args(arguments).arg("a.c").env("TMPDIR", w.path("tmp"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it runs")
    };
    let child = check(&["--compiler", "./compiler", "--budget", "1"]);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), left()), (Some(3), 0), "{}", stderr(&output));
    for (signal, status) in [("-TERM", Some(3)), ("-KILL", None)] {
        let child = check(&["--compiler", "./compiler"]);
        wait_for("the compiler", || exists(&w.path("ready")));
        kill(signal, child.id());
        // The compiler ends too: it has the other end of the pipes.
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), status, "{}", stderr(&output));
        assert_eq!(left() > 0, status.is_none(), "{signal}");
    }
    let output = check(&[]).wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), left()), (Some(0), 0), "{}", stderr(&output));
}

#[test]
fn replay_obeys_its_budget() {
    let w = Workshop::new();
    build(&w);
    let child = start(&w, &["record", "-o", "a.ft", "--", "./a"]);
    kill("-TERM", child.id());
    child.wait_with_output().expect("it ends");
    w.expect(0, &["predict", "a.ft", "--json", "a.json"]);
    let replay = ["replay", "a.ft", "nondeterminism-1", "--limit", "100", "--budget", "1"];
    let told = stderr(&w.expect(3, &[&replay[..], &["--", "./a"]].concat()));
    assert_eq!(told, "foretell: out of time (see --budget)\n");
    assert!(programs(&w).is_empty());
}

/// The replay of the second race spins for ever, and says so by the file `spins`.
const SPINS: &str = "#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n\
    static int x, flag;\n\
    static void *f(void *p) { x++; return p; }\n\
    static void *g(void *p) { flag = 1; return p; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0);\n\
    pthread_create(&t, 0, g, 0); int seen = flag;\n\
    if (seen) { fclose(fopen(\"spins\", \"w\")); for (;;) usleep(1000); }\n\
    pthread_join(t, 0); return 0; }\n";

#[test]
fn interrupted_check_prints_what_was_confirmed() {
    let w = Workshop::new();
    w.write("a.c", SPINS);
    let mut command = w.command(FORETELL);
    command.args(["check", "a.c", "--runs", "1", "--analyses", "race", "--limit", "600"]);
    command.args(["--json", "a.json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("it runs");
    wait_for("the replay of the second race", || exists(&w.path("spins")));
    kill("-TERM", child.id());
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}{}", stderr(&output));
    assert!(text.contains("replayed  ran to the end"), "{text}");
    assert!(text.contains("1 finding confirmed, 1 not replayed"), "{text}");
    let json = fs::read_to_string(w.path("a.json")).expect("a file");
    assert!(json.contains(r#""id":"race-1""#) && json.contains(r#""id":"race-2""#), "{json}");
}

/// A child that waits for its parent does not outlive a replay in which an assertion of the parent
/// fails.
#[test]
fn replays_leave_no_process_behind() {
    let w = Workshop::new();
    let waits = "#include <assert.h>\n#include <pthread.h>\n#include <signal.h>\n\
        #include <sys/wait.h>\n#include <unistd.h>\n\
        static int x, seen;\n\
        static void *f(void *a) { x = 1; return a; }\n\
        int main(void) { pthread_t t; pid_t child = fork(); if (child == 0) for (;;) pause();\n\
        pthread_create(&t, 0, f, 0); seen = x; pthread_join(t, 0);\n\
        assert(seen == 0); kill(child, SIGKILL); waitpid(child, 0, 0); return 0; }\n";
    w.write("a.c", waits);
    w.expect(0, &["cc", "-g", "-o", "a", "a.c"]);
    w.expect(0, &["record", "-o", "a.ft", "--", "./a"]);
    w.expect(1, &["predict", "a.ft", "--json", "a.json"]);
    let replayed = w.expect(1, &["replay", "a.ft", "race-1", "--", "./a"]);
    let said = String::from_utf8_lossy(&replayed.stdout).into_owned();
    assert!(said.contains("assertion failed"), "{said}");
    assert_eq!(programs(&w), Vec::<u32>::new());
}
