//! Memory that create and join transfer from thread to thread.

use std::collections::BTreeSet;

use crate::workshop::{Workshop, stderr};

/// Each thread works on its half of an array that `main` fills before and sums up after; both use
/// `total` without a lock.
const HALVES: &str = r#"
#include <pthread.h>
enum { N = 1000 };
static int data[2][N], total;
static void *work(void *arg) {
    int *half = arg;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 1; i < N; i++)
            half[i] += half[i - 1];
    total += half[N - 1] & 1;
    return NULL;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2 * N; i++)
        data[i / N][i % N] = i;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, data[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    unsigned sum = 0;
    for (int i = 0; i < 2 * N; i++)
        sum += (unsigned)data[i / N][i % N];
    return sum == 1;
}
"#;

/// Returns the number of events, whether the message about skipped accesses came, and the races.
fn record(w: &Workshop, rounds: u32, options: &[&str]) -> (usize, bool, String) {
    w.write("halves.c", HALVES);
    let rounds = format!("-DROUNDS={rounds}");
    w.expect(0, &["cc", &rounds, "halves.c", "-pthread", "-o", "halves"]);
    let recording = [&["record"], options, &["-o", "run.std", "--", "./halves"]].concat();
    let said = stderr(&w.expect(0, &recording));
    let events = w.trace("run.std").lines().filter(|line| !line.starts_with('#')).count();
    w.expect(1, &["predict", "--analyses", "race", "--json", "found.json", "run.std"]);
    w.expect(0, &["verify", "run.std", "found.json"]);
    let found = w.trace("found.json");
    let objects = found.split("\"objects\":[\"").skip(1).filter_map(|rest| rest.split('"').next());
    let races = objects.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>();
    (events, said.contains("--keep-all keeps them"), races.join(" "))
}

#[test]
fn few_transferred_accesses_are_all_in_the_trace() {
    let w = Workshop::new();
    let (all, said, races) = record(&w, 3, &["--keep-all"]);
    assert!(!said && races == "total", "{races}");
    assert_eq!(record(&w, 3, &[]), (all, said, races));
}

#[test]
fn first_of_many_transferred_accesses_are_in_the_trace() {
    let w = Workshop::new();
    let (some, said, races) = record(&w, 150, &[]);
    assert!(said && races == "total" && (250_000..300_000).contains(&some), "{some} {races}");
    let (all, said, races) = record(&w, 150, &["--keep-all"]);
    assert!(!said && races == "total" && all > 800_000, "{all} {races}");
}
