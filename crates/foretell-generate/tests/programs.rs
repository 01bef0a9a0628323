//! The papers' programs: legal traces, the numbers of the tables, the same trace every time.

use foretell_generate::programs::{Benchmark, Shape, measure, trace};
use foretell_trace::{legality, text};

/// More of everything than the programs themselves have with six threads.
fn shape() -> Shape {
    Shape {
        threads: 6,
        events: Some(1_500),
        lock_events: Some(200),
        locks: Some(30),
        variables: Some(60),
        wait_notifies: Some(60),
        conditions: Some(25),
        blocks: Some(20),
        races: 3,
        violations: 2,
        guarded: 2,
        ..Shape::default()
    }
}

#[test]
fn programs_run_to_their_end_and_are_legal() {
    for &benchmark in Benchmark::ALL {
        for threads in [2, 3, 4, 9] {
            let trace = trace(benchmark, &Shape { threads, ..shape() });
            let name = benchmark.name();
            assert!(legality::check(&trace).is_ok(), "{name}");
            assert!(trace.len() < 4_000, "{name}: {} events", trace.len());
            assert_eq!(name.parse(), Ok(benchmark));
            assert_eq!(trace.thread_count(), threads, "{name}");
        }
    }
}

#[test]
fn work_fills_a_program_up_to_the_numbers_of_a_table() {
    // These two take as many phases and meals as the table has room for.
    let sized = [Benchmark::BarrierBench, Benchmark::Philosophers];
    for &benchmark in Benchmark::ALL.iter().filter(|b| !sized.contains(b)) {
        let name = benchmark.name();
        let shape = shape();
        let found = measure(&trace(benchmark, &shape));
        // The number of waits of a thread depends on the schedule, which the work changes.
        let near =
            |a: Option<usize>, b: Option<usize>| a.unwrap_or(0).abs_diff(b.unwrap_or(0)) <= 20;
        assert!(near(found.events, shape.events), "{name}: {found:?}");
        assert!(near(found.wait_notifies, shape.wait_notifies), "{name}: {found:?}");
        assert_eq!(found.lock_events, shape.lock_events, "{name}");
        assert_eq!(found.locks, shape.locks, "{name}");
        assert_eq!(found.variables, shape.variables, "{name}");
        assert_eq!(found.conditions, shape.conditions, "{name}");
        assert_eq!(found.blocks, shape.blocks, "{name}");
    }
}

#[test]
fn the_same_numbers_give_the_same_trace() {
    let written = || {
        let mut out = Vec::new();
        text::write(&trace(Benchmark::Pool, &shape()), &mut out).expect("it can be written");
        out
    };
    assert_eq!(written(), written());
}
