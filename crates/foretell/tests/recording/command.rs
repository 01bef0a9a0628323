//! The compiler driver, recording and replaying, from the command line.

use std::fs;

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

#[test]
fn makefile_builds_with_the_driver() {
    let w = Workshop::new();
    w.write(
        "Makefile",
        "CFLAGS = -O0 -MMD\nLDLIBS = -lpthread\nprogram: main.o libpart.a libshared.so\n\
         \t$(CC) $(LDFLAGS) -o $@ main.o libpart.a libshared.so $(LDLIBS) -Wl,-rpath,'$$ORIGIN'\n\
         libpart.a: part.o\n\t$(AR) rcs $@ $^\n\
         libshared.so: shared.c\n\t$(CC) -shared -fPIC -o $@ $^\n",
    );
    w.write(
        "main.c",
        "#include <pthread.h>\n#include <stdio.h>\nint part(int);\nint shared(int);\nint total;\n\
         static void *work(void *a) { total = part(1) + shared(2); return a; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); pthread_join(t, 0);\n\
         printf(\"%d\\n\", total); return total; }\n",
    );
    w.write("part.c", "int part(int x) { return x + 1; }\n");
    w.write("shared.c", "int calls; int shared(int x) { calls++; return x * 2; }\n");
    let made = w.run("make", &["-s", &format!("CC={FORETELL} cc")]);
    assert!(made.status.success(), "{}", stderr(&made));
    assert!(w.path("main.d").exists());
    let recorded = w.expect(6, &["record", "-o", "run.std", "--", "./program"]);
    assert_eq!(stdout(&recorded), "6\n");
    let trace = fs::read_to_string(w.path("run.std")).expect("a trace");
    assert!(trace.contains("T1|w(total=6)|main.c:6|work\n"), "{trace}");
    assert!(trace.contains("ended=exit 6"), "{trace}");
}

#[test]
fn driver_passes_compiler_options_on() {
    let w = Workshop::new();
    assert_eq!(stdout(&w.expect(0, &["cc", "--version"])), stdout(&w.run("gcc", &["--version"])));
    let name = "-print-file-name=libc.so";
    assert_eq!(stdout(&w.expect(0, &["cc", name])), stdout(&w.run("gcc", &[name])));
    w.write("a.c", "int main(void) { return FOO; }\n");
    w.write("options", "-DFOO=3 -c 'a.c'\n-o a.o\n");
    w.expect(0, &["cc", "@options"]);
    w.expect(0, &["c++", "a.o", "-o", "a"]);
    assert_eq!(w.run("./a", &[]).status.code(), Some(3));
    assert!(stdout(&w.expect(0, &["cc", "-E", "-DFOO=4", "a.c"])).contains("return 4;"));
    assert!(stdout(&w.expect(0, &["cc", "-MM", "a.c"])).starts_with("a.o: a.c"));
    w.expect(1, &["cc", "-c", "a.c"]);
    let refused = stderr(&w.expect(2, &["cc", "-static", "a.o", "-o", "b"]));
    assert!(refused.starts_with("foretell cc: -static: ") && refused.lines().count() == 1);
    let warned = stderr(&w.expect(0, &["cc", "-O2", "-DFOO=1", "-c", "a.c"]));
    assert!(warned.contains("warning: optimised code"), "{warned}");
}

#[test]
fn same_seed_gives_the_same_trace() {
    let w = Workshop::new();
    w.build("dining.c");
    let mut traces = Vec::new();
    for _ in 0..20 {
        w.expect(0, &["record", "-q", "--seed", "7", "--quantum", "3", "--", "./program"]);
        traces.push(fs::read(w.path("foretell.ft")).expect("a trace"));
    }
    assert!(traces.iter().all(|trace| *trace == traces[0]));
}

#[test]
fn program_built_with_gccs_sanitizer_is_recorded() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\nint x;\nstatic void *f(void *a) { x = 1; return a; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); }\n",
    );
    let built = w.run("gcc", &["-g", "-fsanitize=thread", "a.c", "-o", "a"]);
    assert!(built.status.success(), "{}", stderr(&built));
    w.expect(0, &["record", "-o", "a.ft", "--", "./a"]);
    let predicted = stdout(&w.expect(1, &["predict", "a.ft"]));
    assert!(predicted.contains("can write `x` at the same time"), "{predicted}");
}

#[test]
fn replay_reproduces_the_crash_every_time() {
    let w = Workshop::new();
    w.build("check_then_use.c");
    w.expect(0, &["record", "-o", "run.ft", "--", "./program"]);
    w.expect(1, &["predict", "run.ft", "--json", "run.json"]);
    let replayed =
        w.expect(1, &["replay", "run.ft", "race-1", "--times", "100", "--", "./program"]);
    let expected = "race-1: confirmed: SIGSEGV in get_info at check_then_use.c:18 (100 of 100)\n";
    assert_eq!(stdout(&replayed), expected);
    let file = fs::read_to_string(w.path("run.json")).expect("findings");
    let file: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    let race = &file["findings"][0]["replay"];
    assert_eq!((race["verdict"].as_str(), race["times"].as_u64()), (Some("crash"), Some(100)));
    assert_eq!(file["findings"][0]["confirmation"], "confirmed");
    w.expect(0, &["verify", "run.ft", "run.json"]);
    // Without a name, all of them.
    let all = stdout(&w.expect(1, &["replay", "run.ft", "--", "./program"]));
    let file = fs::read_to_string(w.path("run.json")).expect("findings");
    let file: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    let findings = file["findings"].as_array().expect("findings");
    assert!(findings.len() > 1 && findings.iter().all(|f| !f["replay"].is_null()), "{file}");
    assert_eq!(all.lines().count(), findings.len(), "{all}");
    assert!(all.starts_with("race-1: confirmed: SIGSEGV in get_info"), "{all}");
    let gdb = stderr(&w.expect(2, &["replay", "run.ft", "--gdb", "--", "./program"]));
    assert!(gdb.lines().count() == 1, "{gdb}");
    let unknown = stderr(&w.expect(2, &["replay", "run.ft", "race-9", "--", "./program"]));
    assert!(unknown.contains("no finding `race-9`: there are race-1"), "{unknown}");
}

#[test]
fn witness_that_the_checker_refuses_is_not_replayed() {
    let w = Workshop::new();
    w.build("check_then_use.c");
    w.expect(0, &["record", "-q", "-o", "run.ft", "--", "./program"]);
    w.expect(1, &["predict", "run.ft", "--json", "run.json"]);
    let file = fs::read_to_string(w.path("run.json")).expect("findings");
    let mut file: serde_json::Value = serde_json::from_str(&file).expect("JSON");
    let schedule = file["findings"][0]["witness"]["schedule"].as_array_mut().expect("a schedule");
    // The events of the finding stay last; one that they need is gone.
    schedule.remove(0);
    w.write("run.json", &file.to_string());
    let refused = w.expect(2, &["replay", "run.ft", "race-1", "--", "./program"]);
    let told = stderr(&refused);
    assert!(told.starts_with("run.json: finding race-1: the checker refuses it: "), "{told}");
    assert_eq!((told.lines().count(), stdout(&refused)), (1, String::new()));
}

#[test]
fn gdb_stops_before_the_last_step() {
    let w = Workshop::new();
    w.build("check_then_use.c");
    w.expect(0, &["record", "-o", "run.ft", "--", "./program"]);
    let gdb = stdout(&w.expect(0, &["replay", "run.ft", "race-1", "--gdb", "--", "./program"]));
    assert!(gdb.contains("SIGTRAP"), "{gdb}");
    assert!(gdb.contains("in closer (unused="), "{gdb}");
}

#[test]
fn departure_from_the_schedule_is_reported() {
    let w = Workshop::new();
    w.build("check_then_use.c");
    w.expect(0, &["record", "-o", "run.ft", "--", "./program"]);
    w.build("lost_update.c");
    let departed = stdout(&w.expect(2, &["replay", "run.ft", "race-1", "--", "./program"]));
    assert!(departed.contains("race-1: unconfirmed: left the schedule: expected "), "{departed}");
}

#[test]
fn crashed_program_leaves_a_trace() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\nint x, *p;\nstatic void *f(void *a) { x = 1; *p = 1; return a; }\n\
         int main(void) { pthread_t t; x = 2; pthread_create(&t, 0, f, 0); pthread_join(t, 0); }\n",
    );
    w.expect(0, &["cc", "a.c", "-o", "a"]);
    w.expect(1, &["record", "-o", "a.std", "--", "./a"]);
    let trace = fs::read_to_string(w.path("a.std")).expect("a trace");
    assert!(trace.contains("T1|w(x=1)|a.c:3|f\n") && trace.contains("ended=signal 11"), "{trace}");
}

#[test]
fn functions_can_be_blocks() {
    let w = Workshop::new();
    w.build("after_you.c");
    let blocks = |options: &[&str]| {
        let record = [&["record", "-o", "run.std"], options, &["--", "./program"]].concat();
        w.expect(0, &record);
        let trace = fs::read_to_string(w.path("run.std")).expect("a trace");
        (trace.matches("begin(pass)").count(), trace.matches("begin").count())
    };
    assert_eq!(blocks(&["--blocks", "none"]), (0, 0));
    assert_eq!(blocks(&["--blocks", "markers"]), (2, 2));
    assert_eq!(blocks(&["--blocks", "locks"]), (0, 4));
    assert_eq!(blocks(&["--blocks", "functions", "--atomic-functions", "pas?,is_*"]), (2, 4));
    w.expect(2, &["record", "--blocks", "functions", "--", "./program"]);
}

#[test]
fn uninstrumented_program_is_reported() {
    let w = Workshop::new();
    let told = stderr(&w.expect(2, &["record", "--", "true"]));
    assert!(told.contains("not instrumented") && told.lines().count() == 1, "{told}");
    let told = stderr(&w.expect(2, &["record", "--", "./nothing"]));
    assert!(told.contains("cannot run ./nothing"), "{told}");
}

/// Thread-private memory and memory that becomes shared late, freed and reused, enough for many
/// chunks of the log.
const PRIVATE_AND_SHARED: &str = "\
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int total, *late, kills;
static int sum(int *values, int n) { int s = 0; for (int i = 0; i < n; i++) s += values[i]; return s; }
static void *work(void *kept) {
    int *mine = kept;
    for (int round = 0; round < 40; round++) {
        int *scratch = malloc(64 * sizeof *scratch);
        for (int i = 0; i < 64; i++) scratch[i] = i * round;
        for (int i = 0; i < 2000; i++) mine[i % 50] += scratch[i % 64];
        pthread_mutex_lock(&lock);
        total += sum(scratch, 4);
        pthread_mutex_unlock(&lock);
        free(scratch);
        if (kills && round == 30) kill(getpid(), SIGKILL);
    }
    late = mine;
    return mine;
}
int main(int argc, char **argv) {
    kills = argc > 1;
    pthread_t threads[2];
    int *memory[2];
    for (int i = 0; i < 2; i++) {
        memory[i] = calloc(50, sizeof(int));
        pthread_create(&threads[i], 0, work, memory[i]);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    total += sum(late, 50);
    for (int i = 0; i < 2; i++) free(memory[i]);
    return 0;
}
";

#[test]
fn filtered_log_gives_the_same_trace() {
    let w = Workshop::new();
    w.write("a.c", PRIVATE_AND_SHARED);
    w.expect(0, &["cc", "a.c", "-pthread", "-o", "a"]);
    let filtered = ["record", "--keep-all", "-o", "filtered.ft", "--", "./a"];
    let filtered = w.expect(0, &filtered);
    let mut whole = w.command(FORETELL);
    whole.env("FORETELL_FILTER", "off");
    let whole = whole.args(["record", "-o", "whole.ft", "--", "./a"]).output().expect("it runs");
    let read = |name: &str| fs::read(w.path(name)).expect("a file");
    assert_eq!(stderr(&filtered), stderr(&whole));
    assert!(read("filtered.ft") == read("whole.ft"));
    assert!(read("filtered.ft.steps") == read("whole.ft.steps"));
}

#[test]
fn killed_program_leaves_a_trace() {
    let w = Workshop::new();
    w.write("a.c", PRIVATE_AND_SHARED);
    w.expect(0, &["cc", "a.c", "-pthread", "-o", "a"]);
    let told = stderr(&w.expect(1, &["record", "-o", "a.std", "--", "./a", "kill"]));
    let trace = fs::read_to_string(w.path("a.std")).expect("a trace");
    assert!(trace.contains("ended=signal 9"), "{told}");
    // One of the threads has reached its 31st round.
    let writes = |thread: &str| {
        let start = format!("{thread}|w(total=");
        trace.lines().filter(|line| line.starts_with(&start)).count()
    };
    assert!(writes("T1").max(writes("T2")) >= 31, "{} {}", writes("T1"), writes("T2"));
}

#[test]
fn commands_that_check_prints_work_when_pasted() {
    let w = Workshop::new();
    fs::create_dir(w.path("my headers")).expect("a directory");
    w.write("my headers/start.h", "#define START 40\n");
    w.write(
        "a b.c",
        "#include <foretell.h>\n#include <pthread.h>\n#include <stdlib.h>\n#include \"start.h\"\n\
         int x = START;\nstatic void *f(void *a) { x = x + STEP; return a; }\n\
         int main(int n, char **a) { if (n != 2 || a[1][1] != ' ') abort();\n\
         pthread_t t; pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0); return 0; }\n",
    );
    let checked = w.expect(
        1,
        &[
            "check",
            "a b.c",
            "--seed",
            "5",
            "--quantum",
            "3",
            "--cflag=-Imy headers",
            "--cflag=-DSTEP=1",
            "--analyses",
            "race",
            "--",
            "x y",
        ],
    );
    let said = stdout(&checked);
    let (_, commands) = said.split_once("right before it:\n").expect("commands");
    let commands: Vec<&str> = commands.lines().take_while(|l| l.starts_with("  ")).collect();
    assert_eq!(commands.len(), 4, "{said}");
    assert!(commands[1].contains("--seed 5 --quantum 3"), "{said}");
    let pasted = commands.join("\n");
    let bin = FORETELL.rsplit_once('/').expect("a directory").0;
    let script = format!("PATH={bin}:$PATH\n{pasted}");
    let ran = w.run("bash", &["-c", &script]);
    let out = stdout(&ran);
    assert!(out.contains("race-1: confirmed: "), "{pasted}\n{out}{}", stderr(&ran));
    // The same finding, with the same schedule.
    let headline = said.lines().find(|line| line.starts_with("race-1: ")).expect("a finding");
    assert!(out.contains(headline), "{out}");
}

#[test]
fn runs_name_their_seeds_and_what_was_new() {
    let w = Workshop::new();
    w.write(
        "a.c",
        "#include <pthread.h>\nint x;\nstatic void *f(void *a) { x = 1; return a; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); }\n",
    );
    let checked = stdout(&w.expect(1, &["check", "a.c", "--seeds", "2", "--seed", "4"]));
    assert!(checked.starts_with("run 1 of 2, seed 4: recorded "), "{checked}");
    assert!(checked.contains("\nrun 2 of 2, seed 5: recorded "), "{checked}");
    assert!(checked.contains("\nseed 4: 1 new finding\n"), "{checked}");
    assert!(checked.contains("\nseed 5: nothing new\n"), "{checked}");
}
