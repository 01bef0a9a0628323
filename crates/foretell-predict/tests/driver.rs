//! Properties of the driver: what it says depends on the trace and the question alone, not on how
//! the work is divided, and limits make it silent but never wrong.

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use foretell_brute::Findings;
use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_predict::analyses::{Candidate, candidates};
use foretell_predict::driver::{Counts, Options, Prediction, Progress, predict};
use foretell_predict::engine::Engine;
use foretell_predict::engines::order::OrderEngine;
use foretell_predict::finding::Finding;
use foretell_predict::query::{Limit, Verdict};
use foretell_predict::witness::{as_recorded, shorten};
use foretell_trace::{EventId, FindingKind, Model, Op, SemId, ThreadId, Trace};
use foretell_verify::{Checker, Pattern};

/// Every family that the engines are for.
fn families() -> impl Iterator<Item = Family> {
    Family::ALL.iter().copied().filter(|&f| f != Family::Scalable)
}

/// The most permissive model that needs no symbols.
fn model(trace: &Trace) -> Model {
    let valued = trace.ids().any(|e| trace.read_value(e).is_some());
    if valued { Model::Value } else { Model::View }
}

fn run(trace: &Trace, options: &Options<'_>) -> Prediction {
    predict(trace, model(trace), options).expect("no witness is refused")
}

/// Traces with some dozens of events, so that there is something to divide.
fn medium(family: Family, seed: u64) -> Trace {
    let params = Params { seed, events: 40, threads: 3, ..Params::of(family) };
    generate(family, &params)
}

#[test]
fn any_number_of_jobs_gives_the_same() {
    for family in families() {
        let trace = medium(family, 1);
        for all in [false, true] {
            let one =
                run(&trace, &Options { all, jobs: 1, unordered: false, ..Options::default() });
            assert!(one.findings.len() > 3, "{family}: too little to be the same");
            for jobs in [2, 4] {
                let many =
                    run(&trace, &Options { all, jobs, unordered: false, ..Options::default() });
                assert_eq!(many.findings, one.findings, "{family} with {jobs} jobs");
                assert_eq!(many.counts, one.counts, "{family} with {jobs} jobs");
                assert_eq!(many.undecided, one.undecided, "{family} with {jobs} jobs");
            }
        }
    }
}

#[test]
fn shards_together_are_the_whole() {
    for family in families() {
        let trace = medium(family, 2);
        for all in [false, true] {
            let options = Options { all, jobs: 1, unordered: false, ..Options::default() };
            let whole = run(&trace, &options);
            for n in 1..=5 {
                let mut findings = Vec::new();
                let mut counts: Vec<Vec<Counts>> = Vec::new();
                for part in 0..n {
                    let shard = run(&trace, &Options { shard: (part, n), ..options.clone() });
                    assert!(shard.undecided.is_empty());
                    findings.extend(shard.findings);
                    counts.push(shard.counts.into_values().collect());
                }
                findings.sort_by_key(|f| (f.candidate.kind(), f.candidate.clone()));
                assert_eq!(findings, whole.findings, "{family} in {n} shards");
                for (i, expected) in whole.counts.values().enumerate() {
                    let sum = counts.iter().fold(Counts::default(), |mut sum, part| {
                        sum.add(&part[i]);
                        sum
                    });
                    assert_eq!(sum, *expected, "{family} in {n} shards");
                }
            }
        }
    }
}

/// Key of a group of findings: the analysis and the places, in an order that does not matter
/// where it does not matter to a reader.
type Key = (&'static str, Vec<String>);

fn key(trace: &Trace, name: &'static str, events: &[EventId]) -> Key {
    let place = |e: &EventId| trace.site(*e).map(|s| trace.location(s).to_owned());
    let mut places: Vec<_> = events.iter().map(|e| place(e).expect("a place")).collect();
    if name == "race" || name == "deadlock" {
        places.sort();
    }
    (name, places)
}

fn keys(trace: &Trace, findings: &Findings) -> BTreeSet<Key> {
    let mut keys = BTreeSet::new();
    let mut add = |name, events: &[EventId]| {
        keys.insert(key(trace, name, events));
    };
    findings.races.iter().for_each(|r| add("race", r));
    findings.atomicity.iter().for_each(|a| add("atomicity", a));
    findings.serializability.iter().for_each(|b| add("serializability", &[*b]));
    findings.transactions.iter().for_each(|b| add("transactions", &[*b]));
    findings.nondeterministic_reads.iter().for_each(|r| add("nondeterministic", &[*r]));
    findings.lifetimes.iter().for_each(|l| add("lifetime", l));
    findings.deadlocks.iter().for_each(|d| add("deadlock", d));
    for &x in &findings.final_values {
        let writes = |e: &EventId| trace.variable(*e) == Some(x) && trace.op(*e).writes();
        let last = trace.ids().rev().find(writes).expect("a last write");
        add("final", &[last]);
    }
    keys
}

/// The key of a candidate, which may not be a finding.
fn candidate_key(trace_model: &TraceModel<'_>, candidate: &Candidate) -> Key {
    let trace = trace_model.trace;
    match candidate {
        Candidate::Race(a, b) => key(trace, "race", &[*a, *b]),
        Candidate::Unordered(a, b) => key(trace, "unordered", &[*a, *b]),
        Candidate::Atomicity(c, r, c2) => key(trace, "atomicity", &[*c, *r, *c2]),
        Candidate::Serializability(b) => {
            key(trace, "serializability", &[trace_model.blocks.get(*b).begin])
        }
        Candidate::Transactions(b) => {
            key(trace, "transactions", &[trace_model.blocks.get(*b).begin])
        }
        Candidate::NondeterministicRead(r) => key(trace, "nondeterministic", &[*r]),
        Candidate::FinalValue(w, _) => key(trace, "final", &[*w]),
        Candidate::Hang(root, _) => key(trace, "hang", &[*root]),
        Candidate::Lifetime(f, a) => key(trace, "lifetime", &[*f, *a]),
        Candidate::Deadlock(acquires) => key(trace, "deadlock", acquires),
    }
}

#[test]
fn a_group_is_found_if_and_only_if_brute_force_has_a_finding_in_it() {
    for family in families() {
        for seed in 0..200 {
            let trace = generate(family, &Params::small(family, seed));
            for model in [Model::View, Model::Value] {
                let Some(brute) = foretell_brute::findings_within(&trace, model, 100_000) else {
                    continue;
                };
                let options = Options { jobs: 1, unordered: false, ..Options::default() };
                let found = predict(&trace, model, &options).expect("no witness is refused");
                assert!(found.undecided.is_empty());
                let grouped = keys(&trace, &common::as_brute(&found.findings));
                assert_eq!(
                    grouped,
                    keys(&trace, &brute),
                    "{family} seed {seed} {model}\n{}",
                    common::show(&trace)
                );
                assert_eq!(found.findings.len(), grouped.len(), "{family} seed {seed}: twice");
            }
        }
    }
}

/// Everything found with a limit is found without one, and everything found without one is found or
/// listed as undecided with it, for the reason given, unless its kind counts as incomplete.
fn limited(options: &Options<'_>, reason: &str) {
    for family in families() {
        let trace = medium(family, 3);
        for all in [false, true] {
            let whole =
                run(&trace, &Options { all, jobs: 2, unordered: false, ..Options::default() });
            let part = run(&trace, &Options { all, jobs: 2, ..options.clone() });
            let trace_model = TraceModel::new(&trace, model(&trace));
            let keys = |p: &Prediction| -> BTreeSet<Key> {
                p.findings.iter().map(|f| candidate_key(&trace_model, &f.candidate)).collect()
            };
            let (found, possible) = (keys(&part), keys(&whole));
            assert!(found.is_subset(&possible), "{family}: found only with a limit");
            let mut known = found;
            for (candidate, why) in &part.undecided {
                assert_eq!(why, reason, "{family}");
                known.insert(candidate_key(&trace_model, candidate));
            }
            let complete: BTreeSet<FindingKind> = part
                .counts
                .iter()
                .filter(|(_, counts)| counts.is_complete())
                .map(|(kind, _)| *kind)
                .collect();
            assert_eq!(part.cut_short.is_none(), complete.len() == part.counts.len(), "{family}");
            let lost = whole.findings.iter().map(|f| &f.candidate).filter(|c| {
                complete.contains(&c.kind()) && !known.contains(&candidate_key(&trace_model, c))
            });
            assert_eq!(lost.count(), 0, "{family}: lost without a word");
            for (analysis, counts) in &part.counts {
                let of = |c: &Candidate| c.kind() == *analysis;
                let listed = part.undecided.iter().filter(|(c, _)| of(c)).count();
                assert_eq!(counts.undecided, listed as u64, "{family} {analysis}");
            }
        }
    }
}

#[test]
fn prediction_stopped_at_the_start_reports_no_findings() {
    let stop = AtomicBool::new(true);
    let options = Options { stop: Some(&stop), unordered: false, ..Options::default() };
    limited(&options, "interrupted");
    for family in families() {
        assert!(run(&medium(family, 3), &options).findings.is_empty());
    }
}

#[test]
fn a_tiny_budget_never_makes_a_wrong_finding() {
    for micros in [0, 50, 500] {
        let budget = Some(Duration::from_micros(micros));
        limited(&Options { budget, unordered: false, ..Options::default() }, "time limit");
    }
}

#[test]
fn a_query_that_runs_out_of_time_is_listed() {
    let options = Options { timeout: Some(Duration::ZERO), unordered: false, ..Options::default() };
    limited(&options, "time limit");
    let lucky = common::trace("T1|w(x)|a\nT2|w(x)|b");
    let found = predict(&lucky, Model::View, &options).expect("no witness is refused");
    assert!(found.findings.is_empty());
    let race = (Candidate::Race(EventId(0), EventId(1)), "time limit".to_owned());
    assert!(found.undecided.contains(&race), "{:?}", found.undecided);
}

#[test]
fn progress_ends_where_the_run_ends() {
    let trace = medium(Family::Mixed, 4);
    let progress = Progress::default();
    let options =
        Options { progress: Some(&progress), jobs: 2, unordered: false, ..Options::default() };
    let found = run(&trace, &options);
    let groups: u64 = found.counts.values().map(|c| c.groups).sum();
    assert_eq!(progress.groups.load(Ordering::Relaxed), groups);
    assert_eq!(progress.done.load(Ordering::Relaxed), groups);
    assert_eq!(progress.findings.load(Ordering::Relaxed), found.findings.len() as u64);
}

#[test]
fn only_the_analyses_asked_for_are_made() {
    let trace = medium(Family::Blocks, 5);
    let whole = run(&trace, &Options { all: true, unordered: false, ..Options::default() });
    for analysis in FindingKind::ALL {
        let analyses = [analysis].into();
        let one =
            run(&trace, &Options { all: true, analyses, unordered: false, ..Options::default() });
        let of = |f: &&Finding| f.candidate.kind() == analysis;
        let expected: BTreeSet<_> =
            whole.findings.iter().filter(of).map(|f| &f.candidate).collect();
        assert_eq!(one.findings.iter().map(|f| &f.candidate).collect::<BTreeSet<_>>(), expected);
        assert_eq!(one.counts.keys().copied().collect::<Vec<_>>(), [analysis]);
    }
}

fn switches(trace: &Trace, schedule: &[EventId]) -> usize {
    schedule.windows(2).filter(|w| trace.thread(w[0]) != trace.thread(w[1])).count()
}

#[test]
fn a_witness_is_never_longer_nor_more_restless_than_what_the_engine_proposed() {
    for family in families() {
        let small = (0..200).map(|seed| generate(family, &Params::small(family, seed)));
        for (seed, trace) in small.chain((0..5).map(|seed| medium(family, seed))).enumerate() {
            let trace_model = TraceModel::new(&trace, Model::View);
            let checker = Checker::new(&trace, Model::View);
            let mut engine = OrderEngine::new(&trace_model);
            for candidate in FindingKind::ALL.into_iter().flat_map(|a| candidates(&trace_model, a))
            {
                let verdict = engine.decide(&candidate.query(), &Limit::default());
                let Verdict::Witness(mut raw) = verdict else { continue };
                let finding = Finding::new(&trace_model, &checker, &candidate, &raw, "order")
                    .expect("no witness is refused");
                // The two accesses of a race are next after the engine's schedule.
                if let Candidate::Race(a, b) = candidate {
                    raw.extend([a, b]);
                }
                let place = format!("{family} seed {seed}: {raw:?} became {finding:?}");
                assert!(finding.schedule.len() <= raw.len(), "{place}");
                assert!(
                    switches(&trace, &finding.schedule) <= switches(&trace, &raw),
                    "{place}\n{}",
                    common::show(&trace)
                );
            }
        }
    }
}

/// Number of pairs of events that are inverted with respect to the trace.
fn inversions(schedule: &[EventId]) -> usize {
    let before = |i: usize| schedule[..i].iter().filter(|&&e| e > schedule[i]).count();
    (0..schedule.len()).map(before).sum()
}

#[test]
fn a_witness_in_the_recorded_order_shows_the_same() {
    for family in families() {
        let small = (0..100).map(|seed| generate(family, &Params::small(family, seed)));
        for trace in small.chain((0..3).map(|seed| medium(family, seed))) {
            let model = model(&trace);
            let trace_model = TraceModel::new(&trace, model);
            let recorded: Vec<EventId> = trace.ids().collect();
            let tidied = shorten(&trace_model, &recorded, &recorded, &[], &[]);
            assert_eq!(as_recorded(&trace, &tidied, 0), recorded, "{}", common::show(&trace));

            let checker = Checker::new(&trace, model);
            for finding in
                run(&trace, &Options { all: true, unordered: false, ..Options::default() }).findings
            {
                let last = if matches!(finding.pattern, Pattern::Race { .. }) { 2 } else { 1 };
                let ordered = as_recorded(&trace, &finding.schedule, last);
                let place = format!("{finding:?} became {ordered:?}\n{}", common::show(&trace));
                let end = |schedule: &[EventId]| schedule[schedule.len() - last..].to_vec();
                assert_eq!(end(&ordered), end(&finding.schedule), "{place}");
                assert!(inversions(&ordered) <= inversions(&finding.schedule), "{place}");
                let checked = checker.verify(&finding.pattern, &ordered);
                assert!(checked.is_ok(), "{checked:?}: {place}");
            }
        }
    }
}

/// Where waits time out, all events of the condition are kept, and where a semaphore has several
/// permits, a post that an event needed which was left out; everywhere else the last event of every
/// thread is there for a reason.
#[test]
fn no_thread_of_a_witness_could_have_stopped_earlier() {
    for family in families() {
        for seed in 0..150 {
            let trace = generate(family, &Params::small(family, seed));
            let mut semaphores = (0..trace.semaphore_count()).map(SemId::from_index);
            if trace.ids().any(|e| trace.op(e) == Op::TimedOut)
                || semaphores.any(|s| trace.initial_count(s) > 1)
            {
                continue;
            }
            let checker = Checker::new(&trace, Model::View);
            let options = Options { all: true, jobs: 1, unordered: false, ..Options::default() };
            let found = predict(&trace, Model::View, &options).expect("no witness is refused");
            // The witness of a final value has all events.
            let is_final = |f: &&Finding| matches!(f.pattern, Pattern::FinalValue { .. });
            for finding in found.findings.iter().filter(|f| !is_final(f)) {
                for t in (0..trace.thread_count()).map(ThreadId::from_index) {
                    let mut shorter = finding.schedule.clone();
                    let last = shorter.iter().rposition(|&e| trace.thread(e) == t);
                    let Some(last) = last.map(|i| shorter.remove(i)) else { continue };
                    assert!(
                        checker.verify(&finding.pattern, &shorter).is_err(),
                        "{family} seed {seed}: {finding:?} does not need {last:?}\n{}",
                        common::show(&trace)
                    );
                }
            }
        }
    }
}
