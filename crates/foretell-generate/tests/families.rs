//! Every family makes legal traces, the same ones every time, with the operations it is about.

use std::collections::BTreeSet;

use foretell_generate::{Family, Params, generate};
use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{EventKind, Op, Trace, legality};

fn small(family: Family, seed: u64) -> Trace {
    generate(family, &Params::small(family, seed))
}

#[test]
fn small_traces_are_legal_and_small() {
    for &family in Family::ALL {
        for seed in 0..2000 {
            let trace = small(family, seed);
            let legal = legality::check(&trace);
            assert_eq!(legal, Ok(()), "{family}, seed {seed}");
            assert!((1..=20).contains(&trace.len()), "{family}, seed {seed}");
            assert!(trace.ids().all(|e| trace.site(e).is_some()));
        }
    }
}

#[test]
fn the_same_parameters_give_the_same_trace() {
    for &family in Family::ALL {
        for seed in 0..50 {
            let (a, b) = (small(family, seed), small(family, seed));
            assert!(a.events().eq(b.events()), "{family}, seed {seed}");
        }
        let differing = (0..50).filter(|&seed| {
            let (a, b) = (small(family, seed), small(family, seed + 1));
            !a.events().eq(b.events())
        });
        assert!(differing.count() > 40, "{family}");
    }
}

#[test]
fn long_traces_are_legal_and_as_long_as_asked_for() {
    for &family in Family::ALL {
        for seed in 0..12 {
            let params = Params {
                seed,
                events: 3000,
                threads: 2 + seed as usize % 5,
                variables: 1 + seed as usize,
                locks: 1 + seed as usize % 4,
                values: seed % 2 == 0,
                ..Params::of(family)
            };
            let trace = generate(family, &params);
            assert_eq!(legality::check(&trace), Ok(()), "{family}, seed {seed}");
            // Where nothing switches threads, they must come to an end: the length is a guess.
            let least = if family == Family::Lucky { 2000 } else { 3000 };
            assert!((least..=3000).contains(&trace.len()), "{family}, seed {seed}");
            let mut shares = vec![0; trace.thread_count()];
            trace.ids().for_each(|e| shares[trace.thread(e).index()] += 1);
            assert!(shares.iter().all(|&s| s >= 5), "{family}, seed {seed}: {shares:?}");
            assert!(trace.site_count() < 400, "{family}, seed {seed}");
        }
    }
}

#[test]
fn extreme_parameters_are_no_problem() {
    for &family in Family::ALL {
        for (threads, events, variables, locks, switch) in
            [(0, 0, 0, 0, 0), (1, 50, 0, 0, 100), (40, 300, 1, 1, 1000), (3, 70, 9, 9, 0)]
        {
            let params =
                Params { seed: 5, threads, events, variables, locks, values: true, switch };
            let trace = generate(family, &params);
            assert_eq!(legality::check(&trace), Ok(()), "{family}");
            assert!(trace.len() <= events);
        }
    }
}

/// The operations that some small trace of the family has.
fn operations(family: Family) -> BTreeSet<Op> {
    (0..500)
        .flat_map(|seed| small(family, seed).events().map(|e| e.kind.op()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn families_have_the_operations_they_are_about() {
    let memory = [Op::Fence, Op::Alloc, Op::Free];
    let others = [&memory[..], &[Op::Guard, Op::TryFailedShared, Op::TryAcquireShared]].concat();
    let all_but_others = Op::ALL.into_iter().filter(|op| !others.contains(op));
    let missing = |family, wanted: &[Op]| {
        let have = operations(family);
        wanted.iter().copied().filter(|op| !have.contains(op)).collect::<Vec<_>>()
    };
    let wanted: Vec<_> = all_but_others.collect();
    assert_eq!(missing(Family::Uniform, &wanted), []);
    assert_eq!(missing(Family::Mixed, &wanted), []);
    assert_eq!(missing(Family::Queue, &[Op::Wait, Op::Woken, Op::TimedOut, Op::Notify]), []);
    assert_eq!(missing(Family::Queue, &[Op::NotifyAll]), []);
    assert_eq!(missing(Family::Waiters, &[Op::Wait, Op::Woken, Op::TimedOut, Op::Notify]), []);
    assert_eq!(missing(Family::Waiters, &[Op::NotifyAll]), []);
    assert_eq!(missing(Family::ForkJoin, &[Op::Fork, Op::Join]), []);
    assert_eq!(missing(Family::Blocks, &[Op::Begin, Op::End]), []);
    assert_eq!(
        missing(Family::ReadersWriters, &[Op::AcquireShared, Op::ReleaseShared, Op::TryFailed]),
        []
    );
    assert_eq!(missing(Family::Sync, &[Op::Post, Op::Down, Op::Arrive, Op::Leave]), []);
    assert_eq!(missing(Family::Symbolic, &[Op::Guard, Op::AtomicUpdate]), []);
    let hidden = [Op::AtomicUpdate, Op::TryFailed, Op::TryFailedShared, Op::Join, Op::Guard];
    assert_eq!(missing(Family::Hidden, &[Op::TryAcquire, Op::TryAcquireShared]), []);
    assert_eq!(missing(Family::Hidden, &hidden), []);
    assert_eq!(missing(Family::Inversion, &[Op::Acquire, Op::Release]), []);
}

#[test]
fn names_are_read_back() {
    for &family in Family::ALL {
        assert_eq!(family.name().parse(), Ok(family));
        assert!(!family.describe().is_empty());
    }
    assert!("nothing".parse::<Family>().unwrap_err().contains("uniform, locks"));
}

#[test]
fn guards_speak_of_known_values() {
    let mut guards = 0;
    for seed in 0..100 {
        let trace = small(Family::Symbolic, seed);
        let mut negated = trace.builder_with_names();
        let before = guards;
        for event in trace.events() {
            let mut kind = event.kind;
            if let EventKind::Guard { expr } = &mut kind {
                *expr = negated.exprs().intern(Expr::App(ExprOp::Not, [*expr].into()));
                guards += 1;
            }
            negated.push(event.thread, kind, event.site);
        }
        assert_eq!(legality::check(&negated.build()).is_ok(), guards == before, "seed {seed}");
    }
    assert!(guards > 100, "{guards}");
}
