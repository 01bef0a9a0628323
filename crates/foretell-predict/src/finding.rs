//! A finding: a candidate with its pattern and a witness that the independent checker has accepted.

use foretell_model::TraceModel;
use foretell_trace::{EventId, Model, NondeterminismForm, Trace, VarId};
use foretell_verify::{Checker, Pattern, Refusal};
use rustc_hash::FxHashSet;

use crate::analyses::Candidate;
use crate::engines::order::{earlier_first, is_ordered, is_stuck};
use crate::reachability::{TransactionGraph, path_in};
use crate::stuck::{leaving_at_once, next_events};
use crate::witness::shorten;

/// A predicted bug.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The candidate that was decided.
    pub candidate: Candidate,
    /// The pattern that the witness shows.
    pub pattern: Pattern,
    /// The witness: a feasible interleaving that ends with the pattern.
    pub schedule: Vec<EventId>,
    /// The engine that found it.
    pub engine: &'static str,
}

/// The checker refused a witness: a defect of Foretell, never a finding.
#[derive(Clone, Debug)]
pub struct Defect {
    /// The candidate that the witness was for.
    pub candidate: Candidate,
    /// The refused pattern and the reason.
    pub message: String,
}

impl std::fmt::Display for Defect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}: {}", self.candidate, self.message)
    }
}

impl std::error::Error for Defect {}

impl Finding {
    /// Turns what an engine found into a finding: shortened, and accepted by the checker.
    pub fn new(
        trace_model: &TraceModel<'_>,
        checker: &Checker<'_>,
        candidate: &Candidate,
        schedule: &[EventId],
        engine: &'static str,
    ) -> Result<Self, Defect> {
        let defect = |message: String| Defect { candidate: candidate.clone(), message };
        let (pattern, schedule) = show(trace_model, candidate, schedule).ok_or_else(|| {
            defect(format!("the engine's schedule {schedule:?} does not show it"))
        })?;
        checker.verify(&pattern, &schedule).map_err(|refusal: Refusal| {
            defect(format!("{pattern:?}: the checker refused {schedule:?}: {refusal}"))
        })?;
        Ok(Self { candidate: candidate.clone(), pattern, schedule, engine })
    }
}

/// The pattern that an engine's schedule shows, and the schedule without the rest.
fn show(
    trace_model: &TraceModel<'_>,
    candidate: &Candidate,
    schedule: &[EventId],
) -> Option<(Pattern, Vec<EventId>)> {
    let trace = trace_model.trace;
    Some(match *candidate {
        Candidate::Race(a, b) => {
            let mut short = shorten(trace_model, schedule, &[], &[], &[a, b]);
            short.extend([a, b]);
            (Pattern::Race { a, b }, short)
        }
        Candidate::Unordered(a, b) => {
            (Pattern::Unordered { a, b }, unordered(trace_model, schedule, a, b)?)
        }
        Candidate::Atomicity(c, r, c2) => {
            // In the symbolic model the values that the three find decide whether they conflict.
            let symbolic = trace_model.model == Model::Symbolic;
            let views = if symbolic { &[c, r, c2][..] } else { &[] };
            let short = shorten(trace_model, schedule, &[c, r, c2], views, &[]);
            (Pattern::Atomicity { c, r, c2 }, short)
        }
        Candidate::Serializability(block) => {
            let path = path_in(trace_model, schedule, block)?;
            let block = trace_model.blocks.get(block);
            let short = shorten(trace_model, schedule, &path, &[], &[]);
            (Pattern::Serializability { begin: block.begin, end: block.end, path }, short)
        }
        Candidate::Transactions(block) => {
            let block = trace_model.blocks.get(block);
            let cycle =
                TransactionGraph::new(trace_model, schedule).cycle(trace_model, block.begin)?;
            let short = shorten(trace_model, schedule, &cycle, &[], &[]);
            (Pattern::Transactions { begin: block.begin, end: block.end, cycle }, short)
        }
        Candidate::NondeterministicRead(read) => {
            let end = schedule.iter().position(|&e| e == read)?;
            let short = shorten(trace_model, &schedule[..=end], &[], &[read], &[]);
            nondeterministic_read(trace_model, read, short)
        }
        Candidate::FinalValue(writer, var) => {
            let writes = |e: &&EventId| writes_variable(trace, **e, var);
            let challenger = *schedule.iter().rev().find(writes)?;
            let tidied = shorten(trace_model, schedule, schedule, &[], &[]);
            (Pattern::FinalValue { var, writer, challenger }, tidied)
        }
        Candidate::Deadlock(ref acquires) => {
            let short = shorten(trace_model, schedule, &[], &[], acquires);
            (Pattern::Deadlock { acquires: acquires.clone() }, short)
        }
        Candidate::Hang(..) => {
            let blocked = next_events(trace_model, schedule);
            let tidied = shorten(trace_model, schedule, schedule, &[], &[]);
            let kept = if is_stuck(trace_model, &tidied) { tidied } else { schedule.to_vec() };
            (Pattern::Hang { blocked }, leaving_at_once(trace_model, &kept))
        }
        Candidate::Lifetime(free, used) => {
            let end = schedule.iter().position(|&e| e == used)?;
            let mut short = shorten(trace_model, &schedule[..=end], &[free, used], &[], &[]);
            // Nothing in the schedule depends on its last event.
            short.retain(|&e| e != used);
            short.push(used);
            (Pattern::Lifetime { free, used }, short)
        }
    })
}

/// Whether an event writes a variable.
fn writes_variable(trace: &Trace, e: EventId, x: VarId) -> bool {
    trace.op(e).writes() && trace.accessed_variables(e).any(|y| y == x)
}

/// The schedule up to the later of two accesses, without what they do not need, if happens-before
/// does not order them without it either.
fn unordered(
    trace_model: &TraceModel<'_>,
    schedule: &[EventId],
    a: EventId,
    b: EventId,
) -> Option<Vec<EventId>> {
    let (_, last) = earlier_first(schedule, a, b)?;
    let up_to = |schedule: &[EventId], last: EventId| {
        let end = schedule.iter().position(|&e| e == last)?;
        Some(schedule[..=end].to_vec())
    };
    let whole = up_to(schedule, last)?;
    // What the two see decides what happens before them.
    let short = shorten(trace_model, &whole, &[], &[a, b], &[]);
    let last = earlier_first(&short, a, b).map(|(_, last)| last);
    match last.and_then(|last| up_to(&short, last)) {
        Some(short) if !is_ordered(trace_model, &short, a, b) => Some(short),
        _ => Some(whole),
    }
}

/// Which of the three forms a schedule that ends with a broken read has.
fn nondeterministic_read(
    trace_model: &TraceModel<'_>,
    read: EventId,
    schedule: Vec<EventId>,
) -> (Pattern, Vec<EventId>) {
    let trace = trace_model.trace;
    let writer = trace_model.reads_from.observed(read);
    let var = trace.variable(read);
    let same_variable = |e: &&EventId| var.is_some_and(|x| writes_variable(trace, **e, x));
    let before = &schedule[..schedule.len() - 1];
    let challenger = before.iter().rev().find(same_variable).copied();
    let ran: FxHashSet<EventId> = schedule.iter().copied().collect();
    let form = match writer {
        // The initial value came before everything.
        None => NondeterminismForm::AfterWriter,
        Some(w) if ran.contains(&w) => NondeterminismForm::AfterWriter,
        Some(w) if still_to_come(trace_model, &ran, w) => NondeterminismForm::BeforeWriter,
        Some(_) => NondeterminismForm::WriterAbsent,
    };
    (Pattern::NondeterministicRead { read, writer, challenger, form }, schedule)
}

/// Whether the write is the next event of its thread, which nothing has cut, so that it can run
/// right after the read.
fn still_to_come(trace_model: &TraceModel<'_>, ran: &FxHashSet<EventId>, write: EventId) -> bool {
    let TraceModel { trace, chains, .. } = trace_model;
    match chains.previous(trace, write) {
        Some(p) => ran.contains(&p) && !trace.op(p).observes(),
        None => chains.fork(trace.thread(write)).is_none_or(|f| ran.contains(&f)),
    }
}
