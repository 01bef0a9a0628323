//! Mutation tests. Each mutation switches one rule of the engine off, or gets one clause
//! wrong; on random traces either the answers must differ from brute force, or the checker must
//! refuse a witness. A mutation that no test notices is a hole in the random traces that the
//! agreement tests rely on.
//!
//! The switches exist in tests only: everywhere else `mutated!` is `false`.

use std::cell::Cell;

use foretell_brute::Findings;
use foretell_generate::{Family, Params, generate};
use foretell_model::TraceModel;
use foretell_trace::{EventId, FindingKind, Model, RaceForm, ThreadId, Trace, conflict, text};
use foretell_verify::Checker;

use super::OrderEngine;
use crate::analyses::{Candidate, candidates};
use crate::engine::Engine;
use crate::finding::Finding;
use crate::query::{Limit, Verdict};
use crate::stuck::is_root;

macro_rules! mutations {
    ($($(#[$doc:meta])* $name:ident)* ; $($(#[$hb_doc:meta])* $hb_name:ident)*) => {
        /// A rule that is switched off, or a clause that is wrong.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Mutation { $($(#[$doc])* $name,)* $($(#[$hb_doc])* $hb_name,)* }

        const FEASIBILITY: &[Mutation] = &[$(Mutation::$name),*];
        const HAPPENS_BEFORE: &[Mutation] = &[$(Mutation::$hb_name),*];
    };
}

mutations! {
    // The simulator lets pass
    /// a read that sees another write than it may, even if its thread goes on
    ReadsNeedNoView
    /// an event after a broken read
    BrokenReadsGoOn
    /// a read that sees a broken update
    BrokenUpdatesAreIntact
    /// two sections of a lock at once
    LocksLetEverybodyIn
    /// a writer while there are readers
    ReadersLetWritersIn
    /// a failed try-lock where no thread holds the lock
    TryLocksNeedNoOwner
    /// a failed try for the reader side where only readers hold the lock
    ReadersFailReaders
    /// a waiter that no thread notified
    WokenNeedsNoNotify
    /// a time-out of a waiter that was notified
    NotifiedMayTimeOut
    /// a notify that wakes everybody
    NotifyWakesAll
    /// a notify that wakes no thread, although one waits
    NotifyMaySkip
    /// one down too many
    SemaphoresHaveOneMore
    /// a leave before everybody has arrived
    BarriersLetThrough
    /// the accesses of an opaque variable in any order
    OpaqueInAnyOrder
    /// a join of a thread whose last event is broken
    BrokenThreadsAreJoined

    // The simulator stops
    /// readers that run together
    ReadersExcludeReaders
    /// a failed try-lock where only readers hold the lock
    OnlyWritersFailTryLocks

    // The clauses let pass
    /// a thread before its fork
    ForksInAnyOrder
    /// a join before the thread's end
    JoinsInAnyOrder
    /// a use of hidden state without the one before it
    HiddenStateMayBeSkipped
    /// a final write that leaves an equal value
    EqualFinalValuesCount
    /// a write between a read and the write it sees
    ThirdWritersBetween
    /// a view that is not kept although the thread goes on
    NextKeepsNothing
    /// a read that relies on an update that is broken
    UpdatesAreAlwaysIntact
    /// a write between a broken read and its challenger
    ChallengersAreHidden
    /// a try-lock that fails when the section is over
    TryLocksFailAfterwards
    /// a notify that picks two waiters
    NotifyPicksTwo
    /// everything about waits that time out
    TimedWaitsAreFree
    /// a pending event after a broken read
    PendingAfterBroken
    /// a final state with broken reads
    FinalReadsMayBreak
    /// a stuck state with a broken read
    StuckThreadsMayBeCut
    /// a stuck state that belongs to an earlier root
    AnyRootIsFirst
    /// transactions that are reached from each other only
    CyclesSupportThemselves

    // The clauses stop
    /// a read that sees an equal value of another thread
    OnlyTheObservedWriter
    /// a read that is broken because it sees a broken update
    UpdatesNeverBreakReaders
    /// two sections in another order than in the trace
    SectionsInOneOrder
    /// a down that uses another post
    OtherPostsDoNotCount
    /// a barrier that meets in another order
    OtherArrivalsDoNotCount
    /// a waiter that another notify wakes
    OtherNotifiesDoNotCount
    /// a thread that is stuck because others took the permits
    OtherDownsTakeNothing
    /// a thread that is stuck because others filled an earlier generation
    OtherArrivalsFillNothing
    /// a thread that waits for the lock of a stuck one
    StuckThreadsHoldNothing
    /// a thread that waits for the end of a stuck one
    JoinsNeverWait
    /// a path along program order
    PathsIgnoreThreads
    ;
    // Happens-before lacks
    /// a release before an acquire
    ReleasesOrderNothing
    /// a post before a down
    PostsOrderNothing
    /// a notification before the woken waiter
    NotifiesOrderNothing
    /// an arrival before a leave
    ArrivalsOrderNothing
    /// a fence that acquires
    FencesDoNotAcquire
    /// a fence that releases
    FencesDoNotRelease
    /// a release sequence that goes on with an update
    UpdatesEndSequences

    // Happens-before has
    /// a relaxed load after the store that it sees
    RelaxedLoadsAcquire
    /// a relaxed store before the load that sees it
    RelaxedStoresRelease
    /// a release of an order-only lock before an acquire
    OrderOnlyLocksSynchronize
    /// a reader of a lock before another reader
    ReadersOrderReaders
    /// the racing write before the racing read that sees it
    SeeingTheRaceOrdersIt
}

thread_local! {
    static ACTIVE: Cell<Option<Mutation>> = const { Cell::new(None) };
}

/// Whether a rule is switched off on this thread.
pub(super) fn active(mutation: Mutation) -> bool {
    ACTIVE.get() == Some(mutation)
}

/// Proposals that a small trace never needs, unless a rule is broken again and again because its
/// clause is missing.
const TOO_MANY_ROUNDS: u64 = 5000;

/// Whether a mutated engine goes in circles.
pub(super) fn circling(rounds: u64) -> bool {
    ACTIVE.get().is_some() && rounds > TOO_MANY_ROUNDS
}

/// A random trace with what brute force says about it.
struct Case {
    trace: Trace,
    model: Model,
    findings: Findings,
    /// Form of the races that are looked at; with the first one every other analysis is.
    form: RaceForm,
}

/// A failed try for the reader side that no writer can have caused where the race is: random traces
/// hardly ever have one.
const TRY_BEFORE_THE_WRITER: &str = "T3|racq(l)
T3|w(x)
T3|rrel(l)
T3|fork(T1)
T1|acq(l)
T2|rtryfail(l)
T1|rel(l)
T2|w(x)
";

/// A trace by hand, and random traces of all families, those with the same seed together: many of
/// every kind, then only those with an opaque variable, which are rare.
fn cases() -> impl Iterator<Item = Case> {
    let families = Family::ALL.iter().copied().filter(|&f| f != Family::Scalable);
    let common = (0..200).map(|seed| (seed, false));
    let rare = (200..1000).map(|seed| (seed, true));
    let written = text::parse(TRY_BEFORE_THE_WRITER.as_bytes()).expect("a trace").trace;
    let random = common
        .chain(rare)
        .flat_map(move |(seed, rare)| families.clone().map(move |family| (family, seed, rare)))
        .map(|(family, seed, rare)| (generate(family, &Params::small(family, seed)), rare))
        .filter(|(trace, rare)| !rare || has_opaque(trace))
        .map(|(trace, _)| with_ended(&trace));
    std::iter::once(written)
        .chain(random)
        .flat_map(|trace| [Model::View, Model::Value].map(|model| (trace.clone(), model)))
        .filter_map(|(trace, model)| {
            let findings = foretell_brute::findings_within(&trace, model, 20_000)?;
            Some(Case { trace, model, findings, form: RaceForm::Adjacent })
        })
}

/// Readers of a lock one after the other, because of a relaxed flag. The sections of the other lock
/// order them in the trace, but need not.
const READERS_IN_ORDER: &str = "T1|racq(l)
T1|w(x)
T1|rrel(l)
T1|aw.rlx(f)
T1|acq(m)
T1|rel(m)
T2|ar.rlx(f)
T2|acq(m)
T2|rel(m)
T2|racq(l)
T2|w(x)
T2|rrel(l)
";

/// Writers in order likewise, each in a section of a lock that synchronises nothing.
const WRITERS_IN_ORDER: &str = "#! order-only l
T1|acq(l)
T1|w(x)
T1|rel(l)
T1|aw.rlx(f)
T1|acq(m)
T1|rel(m)
T2|ar.rlx(f)
T2|acq(m)
T2|rel(m)
T2|acq(l)
T2|w(x)
T2|rel(l)
";

/// Traces by hand, and random traces of all families, with their races of both forms.
fn unordered_cases() -> impl Iterator<Item = Case> {
    let families = Family::ALL.iter().copied().filter(|&f| f != Family::Scalable);
    let written = [READERS_IN_ORDER, WRITERS_IN_ORDER]
        .map(|trace| text::parse(trace.as_bytes()).expect("a trace").trace);
    let random = (0..1000)
        .flat_map(move |seed| families.clone().map(move |family| (family, seed)))
        .map(|(family, seed)| generate(family, &Params::small(family, seed)));
    written.into_iter().chain(random).filter_map(|trace| {
        let (model, form) = (Model::View, RaceForm::Unordered);
        let findings = foretell_brute::races_of_both_forms(&trace, model, 5_000)?;
        Some(Case { trace, model, findings, form })
    })
}

/// The trace with all threads ended.
fn with_ended(trace: &Trace) -> Trace {
    let mut b = trace.builder_with_names();
    for t in (0..trace.thread_count()).map(ThreadId::from_index) {
        b.set_ended(t);
    }
    for event in trace.events() {
        b.push_ordered(event.thread, event.kind, event.order, event.site);
    }
    b.build()
}

fn has_opaque(trace: &Trace) -> bool {
    trace.ids().any(|e| trace.variable(e).is_some_and(|x| trace.is_opaque(x)))
}

/// Whether the engine says something else than brute force, nothing, or something that the checker
/// refuses.
fn disagrees(case: &Case) -> bool {
    let trace_model = TraceModel::new(&case.trace, case.model);
    let checker = Checker::new(&case.trace, case.model);
    let mut engine = OrderEngine::search_only(&trace_model);
    let all: Vec<Candidate> = match case.form {
        RaceForm::Adjacent => {
            FindingKind::ANALYSES.into_iter().flat_map(|a| candidates(&trace_model, a)).collect()
        }
        RaceForm::Unordered => unordered_candidates(case).collect(),
    };
    all.into_iter().any(|candidate| match engine.decide(&candidate.query(), &Limit::default()) {
        Verdict::Impossible => is_finding(&trace_model, &case.findings, &candidate),
        Verdict::Undecided(_) => true,
        Verdict::Witness(schedule) => {
            !is_finding(&trace_model, &case.findings, &candidate)
                || Finding::new(&trace_model, &checker, &candidate, &schedule, "order").is_err()
        }
    })
}

/// Conflicting accesses, not both atomic, that cannot be next at the same time.
fn unordered_candidates(case: &Case) -> impl Iterator<Item = Candidate> {
    let trace = &case.trace;
    let before = move |b| trace.ids().take_while(move |&a| a < b).map(move |a| [a, b]);
    let is_candidate = |pair: &[EventId; 2]| {
        let [a, b] = *pair;
        conflict(trace, a, b)
            && !(trace.op(a).is_atomic() && trace.op(b).is_atomic())
            && !case.findings.races.contains(pair)
    };
    trace.ids().flat_map(before).filter(is_candidate).map(|[a, b]| Candidate::Unordered(a, b))
}

fn is_finding(trace_model: &TraceModel<'_>, findings: &Findings, candidate: &Candidate) -> bool {
    let begin = |b| trace_model.blocks.get(b).begin;
    match candidate {
        Candidate::Race(a, b) => findings.races.contains(&[*a, *b]),
        Candidate::Unordered(a, b) => findings.unordered_races.contains(&[*a, *b]),
        Candidate::Atomicity(c, r, c2) => findings.atomicity.contains(&[*c, *r, *c2]),
        Candidate::Serializability(b) => findings.serializability.contains(&begin(*b)),
        Candidate::Transactions(b) => findings.transactions.contains(&begin(*b)),
        Candidate::NondeterministicRead(r) => findings.nondeterministic_reads.contains(r),
        Candidate::FinalValue(_, x) => findings.final_values.contains(x),
        Candidate::Hang(root, _) => findings.hangs.iter().any(|blocked| {
            let mut roots = blocked.iter().filter(|&&e| is_root(trace_model.trace.op(e)));
            roots.next() == Some(root)
        }),
        Candidate::Lifetime(f, a) => findings.lifetimes.contains(&[*f, *a]),
        Candidate::Deadlock(acquires) => findings.deadlocks.contains(acquires),
    }
}

/// Asserts that each mutation makes the engine disagree with brute force in some case.
fn are_noticed(mutations: &[Mutation], cases: impl Iterator<Item = Case>) {
    let mut unnoticed = mutations.to_vec();
    for case in cases {
        unnoticed.retain(|&mutation| {
            ACTIVE.set(Some(mutation));
            let noticed = disagrees(&case);
            ACTIVE.set(None);
            assert!(!noticed || !disagrees(&case), "{mutation:?} is not to blame");
            !noticed
        });
        if unnoticed.is_empty() {
            return;
        }
    }
    panic!("no test notices {unnoticed:?}");
}

#[test]
fn every_mutation_is_noticed() {
    are_noticed(FEASIBILITY, cases());
}

#[test]
fn every_mutation_of_happens_before_is_noticed() {
    are_noticed(HAPPENS_BEFORE, unordered_cases());
}
