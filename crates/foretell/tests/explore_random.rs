//! Exploration of random real C programs against the enumeration of all their schedules.
//!
//! The programs are those of the small machine that the tests of `foretell-explore` use; here each
//! becomes a C program whose main thread prints what every thread observed. More of them:
//! `FORETELL_RANDOM_PROGRAMS=N`.

#[path = "../../foretell-explore/tests/machine/mod.rs"]
#[allow(dead_code)]
mod machine;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::Command;

use machine::{Code, Do, Observed, brute, random};
use serde_json::Value;

/// Number of programs of each flavour, unless `FORETELL_RANDOM_PROGRAMS` says otherwise.
const PROGRAMS: u64 = 3;

/// Returns the C code of an instruction. `at` is its number in the thread `t`.
fn instruction(t: usize, at: usize, what: Do) -> String {
    let seen = format!("seen[{t}][count[{t}]++] = (pair){{{at}, r}};");
    match what {
        Do::Read(x) => format!("r = atomic_load(&x{x}); {seen}"),
        Do::Set(x, v) => format!("atomic_store(&x{x}, {v});"),
        Do::Put(x, v) => format!("atomic_store(&x{x}, r + {v});"),
        Do::Add(x, v) => format!("r = atomic_fetch_add(&x{x}, {v}); {seen}"),
        Do::Lock(l) => format!("pthread_mutex_lock(&l{l});"),
        Do::Unlock(l) => format!("pthread_mutex_unlock(&l{l});"),
        Do::Try(l, skip) => format!(
            "{{ int q = pthread_mutex_trylock(&l{l}) == 0; \
             seen[{t}][count[{t}]++] = (pair){{{at}, q}}; if (!q) goto i{}; }}",
            at + 1 + skip
        ),
        Do::Unless(v, skip) => format!("if (r != {v}) goto i{};", at + 1 + skip),
        Do::BackUnless(v, back) => format!("if (r != {v}) goto i{};", at - back),
        Do::Post(s) => format!("sem_post(&s{s});"),
        Do::Down(s) => format!("sem_wait(&s{s});"),
        Do::Wait(c) => format!("pthread_cond_wait(&c{c}, &l0);"),
        Do::TimedWait(c, skip) => format!(
            "{{ int q = pthread_cond_timedwait(&c{c}, &l0, &soon) == 0; \
             seen[{t}][count[{t}]++] = (pair){{{at}, q}}; if (!q) goto i{}; }}",
            at + 1 + skip
        ),
        Do::Notify(c) => format!("pthread_cond_signal(&c{c});"),
        Do::NotifyAll(c) => format!("pthread_cond_broadcast(&c{c});"),
    }
}

/// Returns the C program of a program of the machine.
fn program(code: &Code) -> String {
    let mut out = String::from(
        "#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n\
         #include <stdio.h>\n#include <time.h>\n\
         static atomic_int x0, x1, x2, x3;\n\
         static pthread_mutex_t l0 = PTHREAD_MUTEX_INITIALIZER, l1 = PTHREAD_MUTEX_INITIALIZER, \
         l2 = PTHREAD_MUTEX_INITIALIZER;\n\
         static pthread_cond_t c0 = PTHREAD_COND_INITIALIZER, c1 = PTHREAD_COND_INITIALIZER;\n\
         static sem_t s0, s1;\n\
         static struct timespec soon;\n\
         typedef struct { int at, value; } pair;\n\
         static pair seen[3][64];\nstatic int count[3];\n",
    );
    for (t, list) in code.0.iter().enumerate() {
        writeln!(out, "static void *f{t}(void *p) {{\n    int r = 0; (void)r;").unwrap();
        for (at, &what) in list.iter().enumerate() {
            writeln!(out, "i{at}: __attribute__((unused));\n    {}", instruction(t, at, what))
                .unwrap();
        }
        writeln!(out, "i{}: __attribute__((unused));\n    return p;\n}}", list.len()).unwrap();
    }
    let threads = code.0.len();
    writeln!(out, "int main(void) {{\n    pthread_t t[{threads}];").unwrap();
    out += "    sem_init(&s0, 0, 0); sem_init(&s1, 0, 0);\n";
    out += "    clock_gettime(CLOCK_REALTIME, &soon); soon.tv_sec += 1;\n";
    for t in 0..threads {
        writeln!(out, "    pthread_create(&t[{t}], 0, f{t}, 0);").unwrap();
    }
    writeln!(out, "    for (int i = 0; i < {threads}; i++) pthread_join(t[i], 0);").unwrap();
    writeln!(out, "    for (int i = 0; i < {threads}; i++) {{").unwrap();
    out += "        for (int j = 0; j < count[i]; j++)\n";
    out += "            printf(\"%d=%d \", seen[i][j].at, seen[i][j].value);\n";
    out += "        printf(\"|\");\n    }\n    return 0;\n}\n";
    out
}

/// Returns what the program prints for these observations.
fn printed(observed: &Observed) -> String {
    let mut out = String::new();
    for list in observed {
        list.iter().for_each(|(at, value)| write!(out, "{at}={value} ").unwrap());
        out.push('|');
    }
    out
}

fn compare(seed: u64, flavour: usize) {
    let code = random(seed, flavour);
    let expected = brute(&code);
    let outputs: BTreeSet<String> =
        expected.iter().filter(|(_, stuck)| !stuck).map(|(seen, _)| printed(seen)).collect();
    let gets_stuck = expected.iter().any(|(_, stuck)| *stuck);
    let directory = tempfile::tempdir().unwrap();
    let source = program(&code);
    std::fs::write(directory.path().join("p.c"), &source).unwrap();
    let options = ["explore", "p.c", "--json", "out.json", "--analyses", "race", "--time", "120"];
    let output = Command::new(env!("CARGO_BIN_EXE_foretell"))
        .args(options)
        .current_dir(directory.path())
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&output.stdout);
    let what = format!("flavour {flavour}, seed {seed}:\n{source}\n{report}");
    let json = std::fs::read(directory.path().join("out.json")).expect(&what);
    let json: Value = serde_json::from_slice(&json).unwrap();
    let exploration = &json["exploration"];
    assert_eq!(exploration["verdict"], "complete", "{what}{exploration}");
    let outcomes = exploration["outcomes"].as_array().unwrap();
    let is_stuck = |o: &&Value| o["ended"] == "deadlock";
    let shown: BTreeSet<String> = outcomes
        .iter()
        .filter(|o| !is_stuck(o))
        .map(|o| o["output"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(shown, outputs, "{what}");
    assert_eq!(outcomes.iter().any(|o| is_stuck(&o)), gets_stuck, "{what}");
}

fn family(flavour: usize) {
    let asked = std::env::var("FORETELL_RANDOM_PROGRAMS").ok();
    let programs = asked.and_then(|n| n.parse().ok()).unwrap_or(PROGRAMS);
    (0..programs).for_each(|seed| compare(seed, flavour));
}

#[test]
fn reads_and_writes() {
    family(0);
}

#[test]
fn with_locks() {
    family(1);
}

#[test]
fn with_try_locks() {
    family(2);
}

#[test]
fn with_semaphores_and_conditions() {
    family(3);
}

#[test]
fn with_waits_that_time_out() {
    family(4);
}
