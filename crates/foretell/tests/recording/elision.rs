//! Long runs: elided accesses to thread-private memory make no finding wrong.

use crate::workshop::{Workshop, stderr, stdout};

/// A thread counts for long, and another takes the count over at a signal. `LATER`: the first
/// thread counts once more after that.
const COUNT: &str = r#"
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
enum { ROUNDS = 1200000 };
static long count;
static char from[64], to[64];
static size_t length = sizeof from;
static sem_t done;
static void add(void) { count++; }
static void *work(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        add();
        if (i % 16 == 0)
            memcpy(to, from, length);
    }
    sem_post(&done);
#ifdef LATER
    add();
#endif
    return unused;
}
int main(void) {
    pthread_t thread;
    sem_init(&done, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    sem_wait(&done);
    long seen = count;
    pthread_join(thread, NULL);
    return seen != ROUNDS;
}
"#;

fn built(options: &[&str]) -> Workshop {
    let w = Workshop::new();
    w.write("count.c", COUNT);
    w.expect(0, &[&["cc"], options, &["-g", "-pthread", "count.c", "-o", "count"]].concat());
    w
}

/// Records the program. Returns the number of events and the messages.
fn record(w: &Workshop, status: i32, options: &[&str]) -> (usize, String) {
    let command = [&["record"], options, &["-o", "run.ft", "--", "./count"]].concat();
    let said = stderr(&w.expect(status, &command));
    let events = said.split("recorded ").nth(1).and_then(|rest| rest.split(' ').next());
    let events = events.map(|n| n.replace(',', "")).and_then(|n| n.parse().ok());
    (events.expect("a number of events"), said)
}

#[test]
fn access_after_elided_ones_stays_after_them() {
    let w = built(&[]);
    let (some, said) = record(&w, 0, &[]);
    assert!(said.contains("1 word of memory has an elision gap"), "{said}");
    let accesses = |said: &str| {
        let before = said.split(" accesses were").next().expect("a number of accesses");
        before.rsplit(' ').next().map(str::to_owned)
    };
    let counted = accesses(&said);
    w.expect(0, &["predict", "run.ft"]);
    let first = std::fs::read(w.path("run.ft")).expect("the trace");
    record(&w, 0, &[]);
    assert!(std::fs::read(w.path("run.ft")).expect("the trace") == first, "another trace");
    let (all, said) = record(&w, 0, &["--keep-all"]);
    assert!(!said.contains("of memory") && all > 2_400_000 && some < all / 2, "{some} {said}");
    assert_eq!(accesses(&said), counted);
}

#[test]
fn accesses_after_a_release_are_recorded() {
    let w = built(&["-DLATER"]);
    record(&w, 1, &[]);
    let found =
        stdout(&w.expect(1, &["predict", "--analyses", "race", "--json", "run.json", "run.ft"]));
    // The call stack is known, though most of its calls are elided too.
    for text in [
        "race-1",
        "in add at count.c:10",
        "called from work at count.c:19",
        "in main at count.c:28",
    ] {
        assert!(found.contains(text), "{text}: {found}");
    }
    w.expect(0, &["verify", "run.ft", "run.json"]);
    let replayed = stdout(&w.expect(1, &["replay", "run.ft", "race-1", "--", "./count"]));
    assert_eq!(replayed, "race-1: confirmed: exit status 0 instead of 1\n");
}
