//! The checker against the reference, on small random traces of every family: it accepts exactly
//! the sequences that the reference lists, and exactly the findings that the reference has can be
//! shown to it.

mod common;

use std::collections::BTreeSet;

use common::{all_feasible, feasible_within, ids, maximal};
use foretell_brute::{Findings, findings, maximal_interleavings, unordered_by_sequences};
use foretell_generate::{Family, Params, generate};
use foretell_trace::{
    CondId, EventId, EventKind, LockId, Model, NondeterminismForm, Op, ThreadId, Trace, VarId,
};
use foretell_verify::{Checker, Pattern};

/// Traces with more feasible sequences than this are left out where every pattern is tried on each.
const MOST_SCHEDULES: usize = 120;

const MODELS: [Model; 3] = [Model::View, Model::Value, Model::Symbolic];

fn small(family: Family, seed: u64, events: usize) -> Trace {
    let params = Params::small(family, seed);
    generate(family, &Params { events, threads: params.threads.min(3), ..params })
}

fn traces(seeds: std::ops::Range<u64>, events: usize) -> impl Iterator<Item = (String, Trace)> {
    seeds.flat_map(move |seed| {
        Family::ALL.iter().map(move |&f| (format!("{f} {seed}"), small(f, seed, events)))
    })
}

#[test]
fn the_checker_accepts_exactly_the_feasible_sequences() {
    for (name, trace) in traces(0..8, 7) {
        for model in MODELS {
            let expected: BTreeSet<Vec<EventId>> = maximal_interleavings(&trace, model);
            let accepted = maximal(&all_feasible(&trace, model));
            let accepted: BTreeSet<Vec<EventId>> = accepted.iter().map(|s| ids(s)).collect();
            assert_eq!(accepted, expected, "{name} {model}\n{trace:?}");
        }
    }
}

#[test]
fn exactly_the_findings_of_the_reference_can_be_shown() {
    let mut shown = Findings::default();
    for (name, trace) in traces(100..120, 9) {
        for model in MODELS {
            let Some(schedules) = feasible_within(&trace, model, MOST_SCHEDULES) else { continue };
            let expected = findings(&trace, model);
            let mut found = Findings::default();
            let show = Show { trace: &trace, checker: Checker::new(&trace, model) };
            for (i, schedule) in schedules.iter().enumerate() {
                // To try every cycle is slow: always where there should be one, else now and then.
                let wanted = if i % 16 == 0 { None } else { Some(&expected.transactions) };
                show.all(&ids(schedule), wanted, &mut found);
            }
            assert_eq!(found, expected, "{name} {model}\n{trace:?}");
            shown.races.extend(found.races);
            shown.atomicity.extend(found.atomicity);
            shown.serializability.extend(found.serializability);
            shown.transactions.extend(found.transactions);
            shown.nondeterministic_reads.extend(found.nondeterministic_reads);
            shown.final_values.extend(found.final_values);
            shown.deadlocks.extend(found.deadlocks);
        }
    }
    // The comparison would mean little if one side of it were always empty.
    assert!(!shown.races.is_empty() && !shown.atomicity.is_empty());
    assert!(!shown.serializability.is_empty() && !shown.transactions.is_empty());
    assert!(!shown.nondeterministic_reads.is_empty() && !shown.final_values.is_empty());
    assert!(!shown.deadlocks.is_empty());
}

/// The trace with all threads but perhaps one ended, everything in one memory block, and every third
/// plain write a `free` of it.
fn with_ends_and_frees(trace: &Trace, seed: u64) -> Trace {
    let mut b = trace.builder_with_names();
    let block = b.mem_block("block");
    (0..trace.variable_count()).for_each(|x| b.set_variable_part(VarId::from_index(x), block));
    (0..trace.lock_count()).for_each(|l| b.set_lock_part(LockId(l as u32), block));
    (0..trace.condition_count()).for_each(|c| b.set_condition_part(CondId(c as u32), block));
    for t in (0..trace.thread_count()).map(ThreadId::from_index) {
        if t.index() as u64 != seed % 8 {
            b.set_ended(t);
        }
    }
    for event in trace.events() {
        let frees = (u64::from(event.id.0) + seed).is_multiple_of(3);
        let kind = match event.kind {
            EventKind::Write { atomic: false, .. } if frees => EventKind::Free { block },
            kind => kind,
        };
        b.push_ordered(event.thread, kind, event.order, event.site);
    }
    b.build()
}

/// Hangs, lifetime violations and races that memory orders leave open, adjacent ones among them.
#[test]
fn exactly_the_hangs_lifetimes_and_unordered_races_of_the_reference_can_be_shown() {
    let mut shown = [0; 3];
    for (seed, (name, trace)) in (0..).zip(traces(200..240, 9)) {
        let trace = with_ends_and_frees(&trace, seed);
        for model in MODELS {
            let Some(schedules) = feasible_within(&trace, model, MOST_SCHEDULES) else { continue };
            let expected = findings(&trace, model);
            let mut found = Findings::default();
            let show = Show { trace: &trace, checker: Checker::new(&trace, model) };
            for schedule in &schedules {
                show.hangs(&ids(schedule), &mut found);
                show.pairs(&ids(schedule), &mut found);
            }
            let context = format!("{name} {model}\n{trace:?}");
            assert_eq!(found.hangs, expected.hangs, "{context}");
            assert_eq!(found.lifetimes, expected.lifetimes, "{context}");
            let unordered = unordered_by_sequences(&trace, model);
            assert_eq!(found.unordered_races, unordered, "{context}");
            shown[0] += found.hangs.len();
            shown[1] += found.lifetimes.len();
            shown[2] += found.unordered_races.len();
        }
    }
    assert!(shown.iter().all(|&count| count > 10), "{shown:?}");
}

/// Shows the checker every pattern that one schedule could possibly be a witness of.
struct Show<'t> {
    trace: &'t Trace,
    checker: Checker<'t>,
}

impl Show<'_> {
    fn all(&self, schedule: &[EventId], cycles: Option<&BTreeSet<EventId>>, found: &mut Findings) {
        self.deadlocks(schedule, found);
        self.final_values(schedule, found);
        let Some(&last) = schedule.last() else { return };
        if !self.trace.op(last).is_access() {
            return;
        }
        self.races(schedule, found);
        self.atomicity(schedule, found);
        self.reads(schedule, found);
        self.blocks(schedule, cycles, found);
    }

    fn accepts(&self, pattern: &Pattern, schedule: &[EventId]) -> bool {
        self.checker.verify(pattern, schedule).is_ok()
    }

    fn races(&self, schedule: &[EventId], found: &mut Findings) {
        let &[.., a, b] = schedule else { return };
        if self.accepts(&Pattern::Race { a, b }, schedule) {
            found.races.insert([a.min(b), a.max(b)]);
        }
    }

    fn atomicity(&self, schedule: &[EventId], found: &mut Findings) {
        let c2 = schedule[schedule.len() - 1];
        let same = |e: &&EventId| self.trace.variable(**e) == self.trace.variable(c2);
        let others: Vec<EventId> = schedule.iter().filter(same).copied().collect();
        for (c, r) in others.iter().flat_map(|&c| others.iter().map(move |&r| (c, r))) {
            if self.accepts(&Pattern::Atomicity { c, r, c2 }, schedule) {
                found.atomicity.insert([c, r, c2]);
            }
        }
    }

    fn reads(&self, schedule: &[EventId], found: &mut Findings) {
        let read = schedule[schedule.len() - 1];
        let writes = |e: &EventId| {
            self.trace.op(*e).writes() && self.trace.variable(*e) == self.trace.variable(read)
        };
        let anything = || self.trace.ids().filter(writes).map(Some).chain([None]);
        for (writer, challenger) in anything().flat_map(|w| anything().map(move |c| (w, c))) {
            for form in [
                NondeterminismForm::AfterWriter,
                NondeterminismForm::BeforeWriter,
                NondeterminismForm::WriterAbsent,
            ] {
                let pattern = Pattern::NondeterministicRead { read, writer, challenger, form };
                if self.accepts(&pattern, schedule) {
                    found.nondeterministic_reads.insert(read);
                }
            }
        }
    }

    fn final_values(&self, schedule: &[EventId], found: &mut Findings) {
        if schedule.len() < self.trace.len() {
            return;
        }
        for var in (0..self.trace.variable_count()).map(VarId::from_index) {
            for (writer, challenger) in
                schedule.iter().flat_map(|&w| schedule.iter().map(move |&c| (w, c)))
            {
                if self.accepts(&Pattern::FinalValue { var, writer, challenger }, schedule) {
                    found.final_values.insert(var);
                }
            }
        }
    }

    fn deadlocks(&self, schedule: &[EventId], found: &mut Findings) {
        let run = self.checker.feasible(schedule).expect("a feasible schedule");
        let threads = (0..self.trace.thread_count()).map(ThreadId::from_index);
        let mut pending: Vec<EventId> = threads.filter_map(|t| run.pending(t)).collect();
        pending.sort_unstable();
        for acquires in subsets(&pending) {
            if self.accepts(&Pattern::Deadlock { acquires: acquires.clone() }, schedule) {
                found.deadlocks.insert(acquires);
            }
        }
    }

    fn hangs(&self, schedule: &[EventId], found: &mut Findings) {
        let run = self.checker.feasible(schedule).expect("a feasible schedule");
        let threads = (0..self.trace.thread_count()).map(ThreadId::from_index);
        let mut pending: Vec<EventId> = threads.filter_map(|t| run.pending(t)).collect();
        pending.sort_unstable();
        for blocked in subsets(&pending) {
            if self.accepts(&Pattern::Hang { blocked: blocked.clone() }, schedule) {
                found.hangs.insert(blocked);
            }
        }
    }

    /// Lifetime violations and unordered races.
    fn pairs(&self, schedule: &[EventId], found: &mut Findings) {
        let Some((&b, before)) = schedule.split_last() else { return };
        for &a in before {
            if self.accepts(&Pattern::Lifetime { free: a, used: b }, schedule) {
                found.lifetimes.insert([a, b]);
            }
            if self.accepts(&Pattern::Unordered { a, b }, schedule) {
                found.unordered_races.insert([a.min(b), a.max(b)]);
            }
        }
    }

    /// Paths are the accesses of the schedule in its order, some left out. Cycles: any few of them
    /// in any order.
    fn blocks(
        &self,
        schedule: &[EventId],
        cycles: Option<&BTreeSet<EventId>>,
        found: &mut Findings,
    ) {
        let accesses: Vec<EventId> =
            schedule.iter().copied().filter(|&e| self.trace.op(e).is_access()).collect();
        let ends: Vec<Option<EventId>> = self.trace.ids().map(Some).chain([None]).collect();
        for begin in self.trace.ids().filter(|&e| self.trace.op(e) == Op::Begin) {
            // Only one end is right: find it by an empty path, which is refused for other reasons
            // then.
            let end = ends.iter().copied().find(|&end| self.is_block(begin, end, schedule));
            let Some(end) = end else { panic!("no end for {begin:?}") };
            for path in subsets(&accesses) {
                if self.accepts(&Pattern::Serializability { begin, end, path }, schedule) {
                    found.serializability.insert(begin);
                }
            }
            if found.transactions.contains(&begin) || cycles.is_some_and(|c| !c.contains(&begin)) {
                continue;
            }
            for cycle in orders(&accesses) {
                if self.accepts(&Pattern::Transactions { begin, end, cycle }, schedule) {
                    found.transactions.insert(begin);
                }
            }
        }
    }

    fn is_block(&self, begin: EventId, end: Option<EventId>, schedule: &[EventId]) -> bool {
        let nothing = Pattern::Serializability { begin, end, path: Vec::new() };
        let refusal = self.checker.verify(&nothing, schedule).expect_err("an empty path");
        refusal.rule == foretell_verify::Rule::PathTooShort
    }
}

fn subsets(of: &[EventId]) -> Vec<Vec<EventId>> {
    let pick =
        |bits: u32| (0..of.len()).filter(move |i| bits >> i & 1 == 1).map(|i| of[i]).collect();
    (0..1u32 << of.len()).map(pick).collect()
}

/// Every order of every subset that starts with its first element: a cycle may start anywhere.
fn orders(of: &[EventId]) -> Vec<Vec<EventId>> {
    let mut all: Vec<Vec<EventId>> = of.iter().map(|&e| vec![e]).collect();
    let mut done = 0;
    while done < all.len() {
        let order = all[done].clone();
        for &e in of.iter().filter(|&&e| e > order[0] && !order.contains(&e)) {
            all.push(order.iter().copied().chain([e]).collect());
        }
        done += 1;
    }
    all
}
