//! `foretell explore` on real programs, and the little exploration of `foretell check`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Two threads that add to a counter, each in two critical sections.
const LOST_UPDATE: &str = r#"
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int n;
static void *f(void *p) {
    pthread_mutex_lock(&m); int v = n; pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m); n = v + 1; pthread_mutex_unlock(&m);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, f, 0); pthread_create(&b, 0, f, 0);
    pthread_join(a, 0); pthread_join(b, 0);
    assert(n == 2);
    return 0;
}
"#;

/// Peterson's algorithm.
const PETERSON: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int want[2], turn; static int n;
static void *f(void *p) {
    int i = (int)(long)p;
    atomic_store(&want[i], 1); atomic_store(&turn, 1 - i);
    while (atomic_load(&want[1 - i]) && atomic_load(&turn) == 1 - i) ;
    n = n + 1;
    atomic_store(&want[i], 0);
    return 0;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, f, (void *)0); pthread_create(&b, 0, f, (void *)1);
    pthread_join(a, 0); pthread_join(b, 0);
    assert(n == 2);
    return 0;
}
"#;

/// Two consumers that test with `if`, and a producer.
const BUFFER_WITH_IF: &str = r#"
#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int count;
static void *consume(void *p) {
    pthread_mutex_lock(&m);
    if (count == 0) pthread_cond_wait(&c, &m);
    assert(count > 0);
    count--;
    pthread_mutex_unlock(&m);
    return p;
}
static void *produce(void *p) {
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m); count++; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
    }
    return p;
}
int main(void) {
    pthread_t t, u, v;
    pthread_create(&t, 0, consume, 0); pthread_create(&u, 0, consume, 0);
    pthread_create(&v, 0, produce, 0);
    pthread_join(t, 0); pthread_join(u, 0); pthread_join(v, 0);
    return 0;
}
"#;

/// A notification that may come before the wait.
const LOST_WAKE_UP: &str = r#"
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void *f(void *p) {
    if (!__atomic_load_n(&ready, 5)) {
        pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);
    }
    return p;
}
static void *g(void *p) {
    __atomic_store_n(&ready, 1, 5);
    pthread_mutex_lock(&m); pthread_cond_signal(&c); pthread_mutex_unlock(&m);
    return p;
}
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
    pthread_join(t, 0); pthread_join(u, 0);
    return 0;
}
"#;

/// A program that prints one of four numbers, and fails in no schedule.
const FOUR_OUTCOMES: &str = r#"
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x, seen;
static void *f(void *p) {
    for (int i = 1; i <= 2; i++) {
        pthread_mutex_lock(&m); x = i; pthread_mutex_unlock(&m);
    }
    return p;
}
static void *g(void *p) {
    if (pthread_mutex_trylock(&m) == 0) { seen = x; pthread_mutex_unlock(&m); } else seen = 9;
    return p;
}
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
    pthread_join(t, 0); pthread_join(u, 0);
    printf("%d\n", seen);
    return 0;
}
"#;

struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn source(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn foretell(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(arguments)
        .current_dir(directory)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Explores a program; returns its exit status, its report and the field `exploration`.
fn explored(source: &str, options: &[&str]) -> (Option<i32>, String, Value) {
    let scratch = Scratch::new();
    scratch.source("program.c", source);
    let mut arguments = vec!["explore", "program.c", "--json", "out.json", "--time", "60"];
    arguments.extend(options);
    let output = foretell(scratch.0.path(), &arguments);
    let json = std::fs::read(scratch.path("out.json")).unwrap_or_else(|e| {
        panic!("{e}: {}{}", text(&output), String::from_utf8_lossy(&output.stderr))
    });
    let json: Value = serde_json::from_slice(&json).unwrap();
    (output.status.code(), text(&output), json["exploration"].clone())
}

#[test]
fn lost_update_in_two_sections_fails_in_the_second_run_and_replays() {
    let scratch = Scratch::new();
    scratch.source("lost.c", LOST_UPDATE);
    let directory = scratch.0.path();
    let output = foretell(directory, &["check", "lost.c", "--save", "kept"]);
    let report = text(&output);
    assert_eq!(output.status.code(), Some(1), "{report}");
    assert!(report.contains("An assertion failed in the recorded run: `n == 2`"), "{report}");
    assert!(report.contains("explored 3 runs: complete"), "{report}");
    assert!(report.contains("foretell replay DIR/run-2.ft observed-1"), "{report}");
    let replay = ["replay", "kept/run-2.ft", "observed-1", "--times", "20", "--", "kept/program"];
    let output = foretell(directory, &replay);
    let report = text(&output);
    assert!(report.contains("20 of 20") || report.contains("20 times"), "{report}");
    assert!(report.contains("n == 2"), "{report}");
}

#[test]
fn exit_status_of_another_schedule_is_a_failure_that_replays() {
    let scratch = Scratch::new();
    scratch.source("lost.c", &LOST_UPDATE.replace("assert(n == 2);", "if (n != 2) return 3;"));
    let directory = scratch.0.path();
    let check = ["check", "lost.c", "--save", "kept", "--json", "out.json"];
    let output = foretell(directory, &check);
    let report = text(&output);
    assert_eq!(output.status.code(), Some(1), "{report}");
    let json = std::fs::read_to_string(scratch.path("out.json")).unwrap();
    let json: Value = serde_json::from_str(&json).unwrap();
    let later = &json["exploration"]["findings"][0];
    assert_eq!((&later["kind"], &later["run"]), (&"observed".into(), &2.into()), "{json}");
    assert_eq!(later["failure"]["kind"], "status", "{json}");
    assert!(report.contains("under another schedule: exit status 3 instead of 0"), "{report}");
    let replay = ["replay", "kept/run-2.ft", "observed-1", "--times", "5", "--", "kept/program"];
    let output = foretell(directory, &replay);
    assert!(text(&output).contains("exit status 3 instead of 0"), "{}", text(&output));
}

#[test]
fn peterson_is_complete_without_a_failure() {
    let (status, report, exploration) = explored(PETERSON, &[]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(exploration["verdict"], "complete", "{exploration}");
    assert_eq!(exploration["outcomes"].as_array().unwrap().len(), 1, "{exploration}");
}

#[test]
fn first_stops_at_the_failure_of_a_buffer_with_if() {
    let (status, report, exploration) = explored(BUFFER_WITH_IF, &["--first"]);
    assert_eq!(status, Some(1), "{report}");
    assert!(report.contains("`count > 0`"), "{report}");
    assert_eq!(exploration["verdict"], "incomplete", "{exploration}");
    assert_eq!(exploration["stopped"], "a run failed", "{exploration}");
}

#[test]
fn lost_wake_up_is_a_run_that_gets_stuck() {
    let (status, report, exploration) = explored(LOST_WAKE_UP, &[]);
    assert_eq!(status, Some(1), "{report}");
    assert!(report.contains("T1 waits for the condition c"), "{report}");
    assert_eq!(exploration["verdict"], "complete", "{exploration}");
}

#[test]
fn every_outcome_is_listed_and_none_of_them_is_a_finding() {
    let (status, report, exploration) = explored(FOUR_OUTCOMES, &["--analyses", "deadlock"]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(exploration["verdict"], "complete", "{exploration}");
    let outcomes = exploration["outcomes"].as_array().unwrap();
    let mut outputs: Vec<&str> = outcomes.iter().map(|o| o["output"].as_str().unwrap()).collect();
    outputs.sort_unstable();
    assert_eq!(outputs, ["0\n", "1\n", "2\n", "9\n"], "{exploration}");
}

#[test]
fn examples_fail_and_their_twins_are_complete() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/explore");
    let scratch = Scratch::new();
    let mut sources: Vec<PathBuf> =
        std::fs::read_dir(examples).unwrap().map(|entry| entry.unwrap().path()).collect();
    sources.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    sources.sort();
    assert!(sources.len() >= 7);
    for source in sources {
        let source = source.to_str().unwrap();
        let output = foretell(scratch.0.path(), &["explore", "--first", source]);
        let report = text(&output);
        if source.ends_with("_fixed.c") {
            assert_eq!(output.status.code(), Some(0), "{source}: {report}");
            assert!(report.contains(": complete; "), "{source}: {report}");
        } else {
            assert_eq!(output.status.code(), Some(1), "{source}: {report}");
            assert!(report.contains("observed-1: An assertion failed"), "{source}: {report}");
        }
    }
}

#[test]
fn order_of_output_is_left_open() {
    let program = r#"
#include <pthread.h>
#include <stdio.h>
static void *f(void *p) { puts(p); return 0; }
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, f, "a"); pthread_create(&u, 0, f, "b");
    pthread_join(t, 0); pthread_join(u, 0);
    return 0;
}
"#;
    let (status, report, exploration) = explored(program, &[]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(exploration["open"][0]["reason"], "output-order", "{exploration}");
}

#[test]
fn tried_semaphore_is_left_open() {
    let program = r#"
#include <pthread.h>
#include <semaphore.h>
static sem_t s;
static int got;
static void *f(void *p) { sem_post(&s); return p; }
static void *g(void *p) { got = sem_trywait(&s) == 0; return p; }
int main(void) {
    pthread_t t, u;
    sem_init(&s, 0, 0);
    pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
    pthread_join(t, 0); pthread_join(u, 0);
    return got;
}
"#;
    let (_, _, exploration) = explored(program, &[]);
    let open = exploration["open"].as_array().unwrap();
    assert!(open.iter().any(|open| open["reason"] == "timed-waits"), "{exploration}");
    // Both outcomes of the try are seen all the same.
    assert_eq!(exploration["outcomes"].as_array().unwrap().len(), 2, "{exploration}");
}

/// A wait with a time limit, and a notification.
const TIMED_WAIT: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready, seen;
static void *f(void *p) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += 1;
    pthread_mutex_lock(&m);
    if (ready) seen = 1;
    else seen = pthread_cond_timedwait(&c, &m, &t) ? 2 : 3;
    pthread_mutex_unlock(&m);
    return p;
}
static void *g(void *p) {
    pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
    return p;
}
int main(void) {
    pthread_t t, u;
    pthread_create(&t, 0, f, 0); pthread_create(&u, 0, g, 0);
    pthread_join(t, 0); pthread_join(u, 0);
    printf("%d\n", seen);
    return 0;
}
"#;

#[test]
fn waits_time_out_and_are_woken() {
    let (status, report, exploration) = explored(TIMED_WAIT, &[]);
    assert_eq!(status, Some(0), "{report}");
    assert_eq!(exploration["verdict"], "complete", "{exploration}");
    let outcomes = exploration["outcomes"].as_array().unwrap();
    let mut outputs: Vec<&str> = outcomes.iter().map(|o| o["output"].as_str().unwrap()).collect();
    outputs.sort_unstable();
    assert_eq!(outputs, ["1\n", "2\n", "3\n"], "{exploration}");
}

#[test]
fn another_process_and_a_thread_of_a_timer_are_left_open() {
    let process = r#"
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int p[2];
    char b;
    if (pipe(p)) return 1;
    if (fork() == 0) { write(p[1], "x", 1); _exit(0); }
    read(p[0], &b, 1);
    wait(0);
    return 0;
}
"#;
    let timer = r#"
#include <semaphore.h>
#include <signal.h>
#include <time.h>
static sem_t s;
static int data;
static void tick(union sigval v) { (void)v; data = 42; sem_post(&s); }
int main(void) {
    struct sigevent e = {0};
    struct itimerspec soon = {{0, 0}, {0, 1000000}};
    timer_t t;
    sem_init(&s, 0, 0);
    e.sigev_notify = SIGEV_THREAD;
    e.sigev_notify_function = tick;
    if (timer_create(CLOCK_MONOTONIC, &e, &t)) return 1;
    timer_settime(t, 0, &soon, 0);
    sem_wait(&s);
    return data != 42;
}
"#;
    for program in [process, timer] {
        let (status, report, exploration) = explored(program, &[]);
        assert_eq!(status, Some(0), "{report}");
        let open = exploration["open"].as_array().unwrap();
        assert!(open.iter().any(|open| open["reason"] == "outside"), "{exploration}");
    }
}

/// Returns the report without what depends on the machine.
fn result_of(directory: &Path, options: &[&str]) -> (Option<i32>, String, String) {
    let mut arguments = vec!["explore", "program.c", "--json", "out.json"];
    arguments.extend(options);
    let output = foretell(directory, &arguments);
    let json = std::fs::read_to_string(directory.join("out.json")).unwrap_or_default();
    (output.status.code(), text(&output), json)
}

#[test]
fn result_does_not_depend_on_the_jobs() {
    let scratch = Scratch::new();
    scratch.source("program.c", PETERSON);
    let one = result_of(scratch.0.path(), &["--jobs", "1"]);
    assert_eq!(one, result_of(scratch.0.path(), &["--jobs", "3"]));
    assert_eq!(one.0, Some(0));
}

#[test]
fn killed_exploration_goes_on_where_it_was() {
    let scratch = Scratch::new();
    scratch.source(
        "program.c",
        &LOST_UPDATE
            .replace("n == 2", "n == 3")
            .replace("pthread_create(&b, 0, f, 0);", "pthread_create(&b, 0, f, 0); f(0);"),
    );
    let directory = scratch.0.path();
    let whole = result_of(directory, &["--resume", "state"]);
    let runs = |state: &str| {
        let runs = std::fs::read_dir(scratch.path(state).join("runs"));
        runs.map_or(0, |runs| runs.count())
    };
    let all = runs("state");
    assert!(all > 5, "{whole:?}");
    // At the same path: the traces name the program.
    std::fs::rename(scratch.path("state"), scratch.path("before")).unwrap();
    let mut killed = 0;
    for part in [1, 3] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_foretell"))
            .args(["explore", "program.c", "--resume", "state"])
            .current_dir(directory)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while runs("state") < all * part / 4 && child.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        killed += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(killed > 0);
    assert_eq!(whole, result_of(directory, &["--resume", "state"]));
    assert_eq!(runs("state"), all);
    // Another program is refused in one line.
    scratch.source("program.c", PETERSON);
    let output = foretell(directory, &["explore", "program.c", "--resume", "state"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(message.contains("another program") && message.lines().count() == 1, "{message}");
}

#[test]
fn each_outcome_has_a_schedule_and_a_trace() {
    let scratch = Scratch::new();
    scratch.source("program.c", FOUR_OUTCOMES);
    let options = ["--analyses", "deadlock", "--save", "kept"];
    let (_, report, json) = result_of(scratch.0.path(), &options);
    let json: Value = serde_json::from_str(&json).unwrap();
    let outcomes = json["exploration"]["outcomes"].as_array().unwrap();
    assert_eq!(outcomes.len(), 4, "{report}");
    for outcome in outcomes {
        let first = outcome["first_run"].as_u64().unwrap();
        assert!(scratch.path(&format!("kept/run-{first}.ft")).exists(), "{report}");
        assert_eq!(outcome["schedule"].is_string(), first > 1, "{outcome}");
    }
}

#[test]
fn budgets_leave_prefixes_open() {
    let (status, report, exploration) = explored(PETERSON, &["--runs", "4"]);
    assert_eq!(status, Some(3), "{report}");
    assert_eq!(exploration["runs"], 4, "{exploration}");
    assert_eq!(exploration["verdict"], "incomplete", "{exploration}");
    assert_eq!(exploration["open"][0]["reason"], "budget", "{exploration}");
    let (status, report, exploration) = explored(PETERSON, &["--runs", "4"]);
    let again = (status, report, exploration.clone());
    assert_eq!(explored(PETERSON, &["--runs", "4"]).2, again.2, "equal seeds give equal runs");
}

#[test]
fn an_instrumented_command_is_explored_and_a_missing_one_is_an_error() {
    let scratch = Scratch::new();
    scratch.source("lost.c", LOST_UPDATE);
    let directory = scratch.0.path();
    let built = foretell(directory, &["cc", "-g", "-pthread", "-o", "lost", "lost.c"]);
    assert!(built.status.success());
    let output = foretell(directory, &["explore", "--first", "--", "./lost"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    for wrong in [&["explore"][..], &["explore", "--", "./missing"], &["explore", "missing.c"]] {
        let output = foretell(directory, wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{wrong:?}");
    }
}

#[test]
fn single_run_explores_nothing() {
    let scratch = Scratch::new();
    scratch.source("lost.c", LOST_UPDATE);
    let output = foretell(scratch.0.path(), &["check", "lost.c", "--runs", "1"]);
    let report = text(&output);
    assert_eq!(output.status.code(), Some(0), "{report}");
    assert!(!report.contains("explored"), "{report}");
}

#[test]
fn java_example_is_complete_and_an_unknown_call_is_not() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/explore/java");
    let scratch = Scratch::new();
    for (name, verdict) in [
        ("TwoSectionsFixed.java", ": complete; "),
        ("MapCheckThenActFixed.java", "calls java.util.concurrent.ConcurrentHashMap.putIfAbsent"),
    ] {
        let source = examples.join(name);
        let output = foretell(scratch.0.path(), &["explore", source.to_str().unwrap()]);
        let report = text(&output);
        assert_eq!(output.status.code(), Some(0), "{name}: {report}");
        assert!(report.contains(verdict), "{name}: {report}");
    }
}

#[test]
fn java_examples_fail() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/explore/java");
    let scratch = Scratch::new();
    for name in ["TwoSections.java", "MapCheckThenAct.java"] {
        let source = examples.join(name);
        let options = ["explore", "--first", source.to_str().unwrap()];
        let output = foretell(scratch.0.path(), &options);
        let report = text(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {report}");
        assert!(report.contains("observed-1: An assertion failed"), "{name}: {report}");
    }
}
