//! Hangs: prediction and brute force agree.
//!
//! The traces are those of the generator, and random programs with locks, conditions, semaphores,
//! barriers, forks and joins, with declarations of the threads that have ended.

mod common;

use std::collections::BTreeSet;

use foretell_generate::{Family, Params, Rng, generate};
use foretell_predict::driver::{Options, Prediction, predict};
use foretell_predict::filters::Filters;
use foretell_trace::{EventId, FindingKind, Model, ThreadId, Trace};

/// The trace with most of its threads ended.
fn with_ended(trace: &Trace, seed: u64) -> Trace {
    let mut rng = Rng::new(seed ^ 0x0e4d_ed00);
    let mut b = trace.builder_with_names();
    for t in (0..trace.thread_count()).map(ThreadId::from_index) {
        if rng.chance(85) {
            b.set_ended(t);
        }
    }
    for event in trace.events() {
        b.push_ordered(event.thread, event.kind, event.order, event.site);
    }
    b.build()
}

fn options() -> Options<'static> {
    let analyses = [FindingKind::Hang].into_iter().collect();
    Options { analyses, all: true, jobs: 1, ..Options::default() }
}

fn sets(prediction: &Prediction) -> BTreeSet<Vec<EventId>> {
    let found = common::as_brute(&prediction.findings).hangs;
    assert_eq!(found.len(), prediction.findings.len(), "a set is found twice");
    found
}

/// Asserts that prediction finds what brute force does; returns the number of hangs.
#[track_caller]
fn agree(trace: &Trace, model: Model, context: &str) -> usize {
    let Some(expected) = foretell_brute::hangs(trace, model, 50_000) else { return 0 };
    let no_filters = Filters::NONE;
    for (search_only, filters) in
        [(false, Filters::default()), (true, Filters::default()), (false, no_filters)]
    {
        let options = Options { search_only, filters, ..options() };
        let prediction = predict(trace, model, &options)
            .unwrap_or_else(|d| panic!("{context} {d:?}\n{}", common::show(trace)));
        assert!(
            prediction.undecided.is_empty(),
            "{context} {:?}\n{}",
            prediction.undecided,
            common::show(trace)
        );
        let shown = common::show(trace);
        assert_eq!(sets(&prediction), expected, "{context} {model}\n{shown}");
    }
    expected.len()
}

fn seeds() -> u64 {
    std::env::var("FORETELL_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(150)
}

fn agree_on(family: Family, models: &[Model]) -> usize {
    let mut found = 0;
    for seed in 0..seeds() {
        let trace = with_ended(&generate(family, &Params::small(family, seed)), seed);
        for &model in models {
            found += agree(&trace, model, &format!("{family} seed {seed}"));
        }
    }
    found
}

#[test]
fn generated_traces() {
    let families = [
        Family::Uniform,
        Family::Locks,
        Family::Inversion,
        Family::ForkJoin,
        Family::Blocks,
        Family::Lucky,
        Family::ReadersWriters,
        Family::Values,
        Family::Hidden,
        Family::Orders,
    ];
    let models = [Model::View, Model::Value];
    let found: usize = families.iter().map(|&family| agree_on(family, &models)).sum();
    assert!(found > 3, "{found} hangs");
}

#[test]
fn generated_traces_with_waits_and_counters() {
    let families = [Family::Queue, Family::Waiters, Family::Sync, Family::Permits, Family::Mixed];
    let found = families.map(|family| agree_on(family, &[Model::View, Model::Value]));
    assert!(found.iter().sum::<usize>() > 100, "{found:?} hangs");
}

#[test]
fn symbolic_traces() {
    let found = [Family::Symbolic, Family::Sync, Family::Queue, Family::Waiters]
        .map(|family| agree_on(family, &[Model::Symbolic]));
    assert!(found.iter().sum::<usize>() > 20, "{found:?} hangs");
}

/// A random program: a main thread that forks two or three threads, some of which it joins, over
/// two locks, a condition, a semaphore and a barrier; run in a random order.
struct Program {
    rng: Rng,
    lines: Vec<String>,
    threads: Vec<Vec<String>>,
}

impl Program {
    /// Statements of a thread; nesting of locks at most two.
    fn statements(&mut self) -> Vec<String> {
        let mut list: Vec<String> = Vec::new();
        let mut held: Vec<usize> = Vec::new();
        for _ in 0..self.rng.between(2, 5) {
            match self.rng.below(12) {
                0 | 1 if held.len() < 2 => {
                    let lock = self.rng.below(2);
                    if !held.contains(&lock) {
                        held.push(lock);
                        list.push(format!("acq(l{lock})"));
                    }
                }
                2 | 9 if held.contains(&0) => list.push("wait(c,l0)".to_owned()),
                3 => list.push(["notify(c)", "notifyall(c)"][self.rng.below(2)].to_owned()),
                4 | 10 => list.push("down(s)".to_owned()),
                5 | 11 => list.push("post(s)".to_owned()),
                6 => list.push("arrive(b)".to_owned()),
                7 => list.push(format!("r(x{})", self.rng.below(2))),
                _ => list.push(format!("w(x{})", self.rng.below(2))),
            }
            if !held.is_empty() && self.rng.chance(30) {
                let lock = held.remove(self.rng.below(held.len()));
                list.push(format!("rel(l{lock})"));
            }
        }
        held.iter().rev().for_each(|lock| list.push(format!("rel(l{lock})")));
        list
    }

    /// The trace of one run, as far as it goes; `None` if a thread is left waiting.
    fn run(seed: u64) -> Option<Trace> {
        let mut program = Program { rng: Rng::new(seed), lines: Vec::new(), threads: Vec::new() };
        let children = program.rng.between(1, 2);
        let mut main: Vec<String> = (1..=children).map(|t| format!("fork(T{t})")).collect();
        main.extend(program.statements());
        for t in 1..=children {
            if program.rng.chance(60) {
                main.push(format!("join(T{t})"));
            }
        }
        program.threads.push(main);
        for _ in 0..children {
            let statements = program.statements();
            program.threads.push(statements);
        }
        let count = program.rng.below(2);
        let parties = program.rng.between(1, 2);
        program.lines = vec![format!("#! sem s={count}"), format!("#! barrier b={parties}")];
        for t in 0..=children {
            if program.rng.chance(if t == 0 { 80 } else { 95 }) {
                program.lines.push(format!("#! ended T{t}"));
            }
        }
        program.schedule()
    }

    /// Lets threads take turns: each next line is tried until no thread can go on.
    fn schedule(mut self) -> Option<Trace> {
        let mut next = vec![0; self.threads.len()];
        // A wait and an arrival have a second half.
        let mut inside: Vec<Option<String>> = vec![None; self.threads.len()];
        let legal = |lines: &[String]| {
            let text = lines.join("\n");
            let trace = foretell_trace::text::parse(text.as_bytes()).ok()?.trace;
            foretell_trace::legality::check(&trace).ok()?;
            Some(trace)
        };
        loop {
            let mut moved = false;
            for _ in 0..12 {
                let t = self.rng.below(self.threads.len());
                let forked = t == 0 || self.lines.contains(&format!("T0|fork(T{t})"));
                let statement = match &inside[t] {
                    Some(second) => second.clone(),
                    None if next[t] < self.threads[t].len() => self.threads[t][next[t]].clone(),
                    None => continue,
                };
                self.lines.push(format!("T{t}|{statement}"));
                let joins = statement.strip_prefix("join(T").and_then(|u| u.strip_suffix(')'));
                let joined = joins.and_then(|u| u.parse::<usize>().ok());
                let ready =
                    joined.is_none_or(|u| next[u] == self.threads[u].len() && inside[u].is_none());
                if !forked || !ready || legal(&self.lines).is_none() {
                    self.lines.pop();
                    continue;
                }
                moved = true;
                match statement.as_str() {
                    "wait(c,l0)" => inside[t] = Some("woken(c,l0)".to_owned()),
                    "arrive(b)" => inside[t] = Some("leave(b)".to_owned()),
                    _ => {
                        inside[t] = None;
                        next[t] += 1;
                    }
                }
            }
            if !moved {
                break;
            }
        }
        let over = (0..next.len()).all(|t| next[t] == self.threads[t].len());
        legal(&self.lines).filter(|_| over)
    }
}

#[test]
fn random_programs() {
    let (mut programs, mut found) = (0, 0);
    for seed in 0..seeds() * 20 {
        let Some(trace) = Program::run(seed) else { continue };
        programs += 1;
        for model in [Model::View, Model::Value] {
            found += agree(&trace, model, &format!("program {seed}"));
        }
    }
    assert!(programs > 400 && found > 100, "{programs} programs, {found} hangs");
}

/// As many threads as parties meet over and over, with locks, permits and reads between meetings.
#[test]
fn threads_that_meet_over_and_over() {
    let (mut found, mut programs) = (0, 0);
    for seed in 0..seeds() * 4 {
        let mut rng = Rng::new(seed ^ 0xba44_1e40);
        let parties = rng.between(2, 3);
        let mut lines = vec![format!("#! barrier b={parties}"), "#! sem s=1".to_owned()];
        lines.extend((0..parties).map(|t| format!("#! ended T{t}")));
        for _ in 0..rng.between(2, 3) {
            for t in 0..parties {
                match rng.below(6) {
                    0 => lines.extend([format!("T{t}|acq(l)"), format!("T{t}|rel(l)")]),
                    1 => lines.extend([format!("T{t}|down(s)"), format!("T{t}|post(s)")]),
                    2 => lines.extend(
                        ["acq(l)", "down(s)", "post(s)", "rel(l)"].map(|op| format!("T{t}|{op}")),
                    ),
                    3 => lines.extend(
                        ["down(s)", "acq(l)", "rel(l)", "post(s)"].map(|op| format!("T{t}|{op}")),
                    ),
                    4 => lines.push(format!("T{t}|r(x)")),
                    _ => {}
                }
            }
            lines.extend((0..parties).map(|t| format!("T{t}|arrive(b)")));
            lines.extend((0..parties).map(|t| format!("T{t}|leave(b)")));
        }
        let trace = common::trace(&lines.join("\n"));
        found += agree(&trace, Model::View, &format!("meetings {seed}"));
        programs += 1;
    }
    assert!(found > 10, "{found} hangs of {programs} programs");
}

/// The hangs of a trace as lists of events, in every model that brute force agrees on.
#[track_caller]
fn hangs(text: &str) -> Vec<Vec<u32>> {
    let trace = common::trace(text);
    agree(&trace, Model::View, "by hand");
    agree(&trace, Model::Value, "by hand");
    let prediction = predict(&trace, Model::View, &options()).expect("no defects");
    let sets = sets(&prediction);
    sets.iter().map(|set| set.iter().map(|e| e.0).collect()).collect()
}

#[test]
fn lost_wake_up() {
    let events = "T1|acq(m)
                  T1|wait(c,m)
                  T2|notify(c)
                  T1|woken(c,m)
                  T1|rel(m)";
    assert_eq!(hangs(&format!("#! ended T2\n{events}")), [[3]]);
    // Nothing is known of the threads, or T2 may do more than it did.
    assert_eq!(hangs(events), Vec::<Vec<u32>>::new());
    assert_eq!(hangs(&format!("#! ended T1\n{events}")), Vec::<Vec<u32>>::new());
    let checked = "#! ended T2
                   T1|acq(m)
                   T1|r(ready)
                   T1|wait(c,m)
                   T2|acq(m)
                   T2|w(ready)
                   T2|notify(c)
                   T2|rel(m)
                   T1|woken(c,m)
                   T1|rel(m)";
    assert_eq!(hangs(checked), Vec::<Vec<u32>>::new());
}

#[test]
fn one_permit_each() {
    let text = "#! sem s=2
                #! ended T1
                #! ended T2
                T1|down(s)
                T1|down(s)
                T1|post(s)
                T1|post(s)
                T2|down(s)
                T2|down(s)
                T2|post(s)
                T2|post(s)
                T0|join(T1)";
    assert_eq!(hangs(text), [[1, 5, 8]]);
}

/// A thread that is never started, and a lock that a thread has ended with.
#[test]
fn threads_that_have_ended_or_not_started() {
    let late = "#! sem s=1
                #! ended T2
                #! ended T3
                T1|down(s)
                T1|fork(T2)
                T2|post(s)
                T3|down(s)";
    assert_eq!(hangs(late), [[0]]);
    let kept = "#! ended T2
                T1|acq(m)
                T1|rel(m)
                T2|acq(m)
                T2|post(s)
                T1|down(s)
                T1|down(t)
                #! sem t=1";
    assert_eq!(hangs(kept), Vec::<Vec<u32>>::new());
    let waits = "#! ended T2
                 T1|acq(m)
                 T1|wait(c,m)
                 T2|notify(c)
                 T1|woken(c,m)
                 T1|rel(m)
                 T2|acq(m)";
    // T2 ends with the lock, before or after T1 begins to wait.
    assert_eq!(hangs(waits), [[3]]);
}

/// Threads that the trace keeps back, and the program does not.
#[test]
fn recorded_order_tries_and_time_outs_are_no_hangs() {
    let hidden = "#! opaque o
                  #! ended T2
                  T1|au(o=0>1)
                  T2|au(o=1>2)
                  T2|post(s)
                  T1|down(s)";
    assert_eq!(hangs(hidden), Vec::<Vec<u32>>::new());
    let tried = "#! sem s=1
                 #! ended T2
                 T1|tryacq(m)
                 T1|rel(m)
                 T1|down(s)
                 T1|post(s)
                 T2|acq(m)
                 T2|down(s)";
    // T1 waits for the permit of T2; where T2 holds the lock, the try fails and T1 goes on.
    assert_eq!(hangs(tried), [[2]]);
    let timed = "#! ended T2
                 T1|acq(m)
                 T1|wait(c,m)
                 T2|w(x)
                 T1|timedout(c,m)
                 T1|rel(m)";
    assert_eq!(hangs(timed), Vec::<Vec<u32>>::new());
}

/// A guard that is false is no wait.
#[test]
fn guards_are_no_hangs() {
    let trace = common::trace(
        "#! init x=0
         #! ended T2
         T1|r(x=0)->%1
         T1|guard((= %1 0))
         T2|w(x=1)
         T2|post(s)
         T1|down(s)",
    );
    assert_eq!(agree(&trace, Model::Symbolic, "by hand"), 0);
}

/// One finding for the place of the first root, however many sets there are.
#[test]
fn hangs_are_grouped() {
    let text = "#! ended T2
                T1|acq(m)|a.c:1
                T1|wait(c,m)|a.c:2
                T2|notify(c)|b.c:1
                T1|woken(c,m)|a.c:2
                T1|rel(m)|a.c:3
                T1|acq(m)|a.c:1
                T1|wait(c,m)|a.c:2
                T2|notify(c)|b.c:1
                T1|woken(c,m)|a.c:2
                T1|rel(m)|a.c:3";
    assert_eq!(hangs(text), [[3], [8]]);
    let grouped = Options { all: false, ..options() };
    let prediction = predict(&common::trace(text), Model::View, &grouped).expect("no defects");
    assert_eq!(prediction.findings.len(), 1);
    let engine = foretell_predict::engines::EngineKind::Dpor;
    let by_dpor = Options { engine, ..options() };
    let prediction = predict(&common::trace(text), Model::View, &by_dpor).expect("no defects");
    assert!(prediction.undecided.iter().all(|(_, why)| why.contains("not by this engine")));
    assert_eq!((prediction.findings.len(), prediction.undecided.len()), (0, 2));
}

/// Queues with semaphores are settled without a search: the permits of slots and items together are
/// as many as there are slots.
#[test]
fn sums_of_permits_settle_queues() {
    let mut lines = vec!["#! sem slots=2".to_owned()];
    lines.extend((0..4).map(|t| format!("#! ended T{t}")));
    for i in 0..40 {
        let (p, c) = (i % 2, 2 + i / 2 % 2);
        lines.extend(["down(slots)", "w(x)", "post(items)"].map(|op| format!("T{p}|{op}")));
        lines.extend(["down(items)", "post(slots)"].map(|op| format!("T{c}|{op}")));
    }
    let trace = common::trace(&lines.join("\n"));
    let prediction = predict(&trace, Model::View, &options()).expect("no defects");
    assert!(prediction.findings.is_empty() && prediction.undecided.is_empty());
    let counts = &prediction.counts[&FindingKind::Hang];
    assert_eq!((counts.candidates, counts.solved), (80, 0));
}
