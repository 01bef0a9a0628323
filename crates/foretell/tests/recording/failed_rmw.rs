//! Failed exchanges: had they succeeded, they would have changed the reads of other threads.

use crate::workshop::{FORETELL, Workshop, stdout};

/// One thread at a time can run, from the first to the last. The exchange in `main` fails. The only
/// way from the block's `y` to its `z` is through the exchange and the events after it; before it
/// the block's thread has set `x` to the value that the exchange expects.
const CHAIN: &str = r#"
#include <pthread.h>
#include <foretell.h>
static int x = 1, y, z;
#define STORE(v, n) __atomic_store_n(&v, n, __ATOMIC_SEQ_CST)
#define LOAD(v) __atomic_load_n(&v, __ATOMIC_SEQ_CST)
#define ADD(v) __atomic_fetch_add(&v, 1, __ATOMIC_SEQ_CST)
static pthread_t start(void *(*routine)(void *)) {
    pthread_t t;
    pthread_create(&t, NULL, routine, NULL);
    return t;
}
static void *fourth(void *arg) {
    if (FOURTH)
        STORE(z, 2);
    return arg;
}
static void *third(void *arg) {
    pthread_t t = start(fourth);
    if (THIRD)
        STORE(z, 1);
    pthread_join(t, NULL);
    return arg;
}
static void *second(void *arg) {
    pthread_t t = start(third);
    STORE(x, 0);
    FORETELL_ATOMIC_BEGIN("second");
    STORE(y, 2);
    LOAD(z);
    FORETELL_ATOMIC_END();
    pthread_join(t, NULL);
    return arg;
}
int main(void) {
    pthread_t t = start(second);
    int expected = 0;
    STORE(y, 1);
    __atomic_compare_exchange_n(&x, &expected, 5, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    pthread_join(t, NULL);
    return 0;
}
"#;

/// The exchange fails, before the block.
const BLOCK: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <foretell.h>
static atomic_int x = 1;
static void *sets(void *arg) {
    FORETELL_ATOMIC_BEGIN("sets");
    atomic_store(&x, 0);
    atomic_fetch_add(&x, 1);
    FORETELL_ATOMIC_END();
    return arg;
}
int main(void) {
    pthread_t t;
    int expected = 0;
    pthread_create(&t, NULL, sets, NULL);
    atomic_compare_exchange_strong(&x, &expected, 5);
    pthread_join(t, NULL);
    return 0;
}
"#;

/// Failed exchanges and one that succeeds, under locks that are taken in both orders, and plain
/// accesses.
const MIXED: &str = r#"
#include <pthread.h>
static int x = 1, p, q;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void exchange(int expected, int n) {
    __atomic_compare_exchange_n(&x, &expected, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    exchange(7, 9);
    p = 1;
    pthread_mutex_lock(second);
    exchange(8, 2);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    q = x;
}
static void *other(void *arg) {
    both(&b, &a);
    exchange(3, 4);
    return arg;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, NULL, other, NULL);
    x = 3;
    both(&a, &b);
    pthread_join(t, NULL);
    return 0;
}
"#;

/// Returns the number of violations that an analysis finds in a program, and the trace.
fn violations(program: &str, defines: &[&str], analysis: &str) -> (usize, String) {
    let w = Workshop::new();
    w.write("program.c", program);
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../../include");
    let build = ["cc", include, "program.c", "-pthread", "-o", "program"];
    w.expect(0, &[&build[..], defines].concat());
    let record = ["record", "--quantum", "100000", "--blocks", "markers"];
    w.expect(0, &[&record[..], &["-o", "run.std", "--", "./program"]].concat());
    let trace = w.trace("run.std");
    assert!(trace.contains("ar(x=1)"), "the exchange fails: {trace}");
    let output = w.run(FORETELL, &["predict", "--all", "--analyses", analysis, "run.std"]);
    let said = stdout(&output);
    let count = said.lines().filter(|l| l.starts_with(analysis) && l.contains(": ")).count();
    (count, format!("{trace}\n{said}"))
}

/// Returns the number of violations in the chain if its last threads write under these conditions,
/// which hold.
fn in_chain(third: &str, fourth: &str) -> (usize, String) {
    let defines = [format!("-DTHIRD={third}"), format!("-DFOURTH={fourth}")];
    let (count, said) = violations(CHAIN, &[&defines[0], &defines[1]], "serializability");
    assert!(said.contains("aw(z="), "{said}");
    (count, said)
}

/// A thread that writes the exchanged variable goes on with any value.
#[test]
fn violation_through_a_write_is_predicted() {
    let (count, said) = in_chain("(STORE(x,3),1)", "0");
    assert_eq!(count, 1, "{said}");
}

/// A thread that adds to the exchanged variable gets another sum.
#[test]
fn violation_through_a_later_update_is_not_predicted() {
    let (count, said) = in_chain("ADD(x)==0", "0");
    assert_eq!(count, 0, "{said}");
}

/// A thread that reads that sum gets another value, even with a plain read.
#[test]
fn violation_through_a_read_of_a_later_update_is_not_predicted() {
    let (count, said) = in_chain("(ADD(x),0)", "x==1");
    assert_eq!(count, 0, "{said}");
}

/// Between the block's accesses the exchange succeeds, and an update follows.
#[test]
fn update_right_after_the_exchange_is_predicted() {
    let (count, said) = violations(BLOCK, &[], "atomicity");
    assert_eq!(count, 1, "{said}");
}

/// Races, deadlocks and blocks are the same without the lock sections of failed exchanges.
#[test]
fn sections_change_no_other_finding() {
    let w = Workshop::new();
    w.write("program.c", MIXED);
    w.expect(0, &["cc", "program.c", "-pthread", "-o", "program"]);
    w.expect(0, &["record", "--quantum", "100000", "-o", "run.std", "--", "./program"]);
    let trace = w.trace("run.std");
    let without: Vec<&str> = trace.lines().filter(|l| !l.contains("attempts at x")).collect();
    assert!(without.len() + 10 < trace.lines().count(), "{trace}");
    w.write("without.std", &without.join("\n"));
    let findings = |file| {
        let said = stdout(&w.run(FORETELL, &["predict", "--all", file]));
        let number = |l: &str| l.split_once(": ")?.0.split_once('-')?.1.parse::<u32>().ok();
        said.lines().filter(|l| number(l).is_some()).map(str::to_owned).collect::<Vec<_>>()
    };
    let found = findings("run.std");
    assert!(["race-2: ", "deadlock-1: "].iter().all(|f| found.iter().any(|l| l.starts_with(f))));
    assert_eq!(found, findings("without.std"), "{trace}");
}
