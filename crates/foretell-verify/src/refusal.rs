//! Why a schedule or a pattern is refused: the rule by name, the event, the place.

use std::fmt;

use foretell_trace::{EventId, EventKind, Trace};

/// The rule that is not kept. The first group makes a schedule infeasible (semantics sections 1, 2
/// and 6), the second makes a feasible one no witness of its pattern (section 3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// The trace names an object that it does not declare.
    Malformed,
    /// There is no such event.
    NoSuchEvent,
    /// Each event runs at most once.
    Twice,
    /// A thread that is forked in the trace starts only after its fork.
    NotStarted,
    /// A broken event is the last of its thread.
    AfterBroken,
    /// The events of a thread are a prefix of the thread in the trace, in order.
    ProgramOrder,
    /// After `wait` the next event of the thread is `woken` or `timed-out`, of that wait.
    Waiting,
    /// The accesses to an opaque variable stand in the order of the trace.
    OpaqueOrder,
    /// The lock is not free.
    LockHeld,
    /// `release` and `wait` need a thread that owns the lock.
    NotOwner,
    /// `release-shared` needs a shared hold.
    NotShared,
    /// `woken` and `timed-out` need a `wait` before them.
    NotWaiting,
    /// `woken` needs a thread that was notified: no choice of waiters wakes it in time.
    NotNotified,
    /// `timed-out` needs a thread in the wait set: every choice of waiters wakes it.
    Notified,
    /// `down` needs a count above 0.
    NoCount,
    /// `leave` needs an arrival that was not left yet.
    NotArrived,
    /// `leave` needs all parties of its generation.
    PartiesMissing,
    /// A thread is forked at most once.
    ForkedTwice,
    /// `join` needs the fork of the thread and every event of it, none of them broken.
    NotFinished,
    /// `symbolic`: a guard must be true.
    GuardNotTrue,

    /// The pattern's last event (or events) must end the schedule.
    NotLast,
    /// The event is not in the schedule.
    NotRun,
    /// The events are not in the order that the pattern needs.
    Order,
    /// Opaque variables take part in no finding.
    Opaque,
    /// The event is no access.
    NotAccess,
    /// The two accesses do not conflict.
    NoConflict,
    /// `symbolic`: the two accesses commute for the values at hand.
    Commute,
    /// Two atomic accesses do not race.
    BothAtomic,
    /// Happens-before orders the two accesses.
    Ordered,
    /// The event opens no block, or the block ends elsewhere.
    NotBlock,
    /// Transactions are outermost blocks.
    NotOutermost,
    /// The event is not in the block.
    OutsideBlock,
    /// The event is in the block's thread.
    InsideThread,
    /// The path has fewer than three events.
    PathTooShort,
    /// Nothing leads from one event of the path or cycle to the next.
    NoStep,
    /// The cycle stays inside one transaction.
    OneTransaction,
    /// The event is no read.
    NotRead,
    /// The read sees what it saw in the trace.
    NotBroken,
    /// The read or the final value has another writer in the trace.
    WrongWriter,
    /// The read or the final value has another writer in the schedule.
    WrongChallenger,
    /// `value`, `symbolic`: the final value is known to be that of the trace.
    SameValue,
    /// Reader, writer and challenger do not stand as the form says.
    WrongForm,
    /// A final value needs every event of the trace.
    Incomplete,
    /// A final value, or a hang, needs a schedule without broken events.
    Broken,
    /// A deadlock needs two acquires or more, of different threads.
    TooFew,
    /// The event is no acquire and no join.
    NotAcquire,
    /// The acquire is not the next event of its thread, started and not cut.
    NotPending,
    /// The acquires do not wait for each other in one cycle.
    NoCycle,
    /// The event does not wait: it can run, or only the order of the trace keeps it from running.
    NotBlocked,
    /// A thread without a next event has not ended, as far as the trace says.
    NotEnded,
    /// No event of a hang waits for a notification, a semaphore or a barrier.
    NoRoot,
    /// The event is no `free`.
    NotFree,
    /// The event is no use of the freed block, or is of the thread of the `free`.
    NotUse,
    /// An observed failure needs a trace that carries one.
    NoFailure,
    /// The witness of an observed failure is the trace itself: its schedule is empty.
    NotRecordedOrder,
    /// The event is not the last one of its thread, or the second of a thread.
    NotThreadEnd,
    /// The threads of the events are not those of the observed failure.
    NotInvolved,
}

/// A rule that is not kept, and where. Displays as one line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Which rule.
    pub rule: Rule,
    /// The event that does not keep it, if it is one event's fault.
    pub event: Option<EventId>,
    /// Its position in the schedule, from 0, if it has one.
    pub step: Option<usize>,
    message: String,
}

impl Refusal {
    /// A refusal of one event.
    pub(crate) fn at(
        trace: &Trace,
        rule: Rule,
        event: EventId,
        step: Option<usize>,
        message: impl fmt::Display,
    ) -> Refusal {
        let place = step.map_or(String::new(), |i| format!(" at step {i}"));
        let message = format!("{}{place}: {message}", describe(trace, event));
        Refusal { rule, event: Some(event), step, message }
    }

    /// A refusal of the pattern as a whole.
    pub(crate) fn whole(rule: Rule, message: impl Into<String>) -> Refusal {
        Refusal { rule, event: None, step: None, message: message.into() }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// An event for people: `event 12 (T2 acq(m))`.
pub(crate) fn describe(trace: &Trace, e: EventId) -> String {
    if e.index() >= trace.len() {
        return format!("event {}", e.0);
    }
    let event = trace.event(e);
    let keyword = event.kind.op().keyword();
    let object = match event.kind {
        EventKind::Read { var, .. }
        | EventKind::Write { var, .. }
        | EventKind::Update { var, .. } => trace.variable_name(var).to_owned(),
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryFailed { lock }
        | EventKind::TryFailedShared { lock } => trace.lock_name(lock).to_owned(),
        EventKind::Wait { cond, lock }
        | EventKind::Woken { cond, lock }
        | EventKind::TimedOut { cond, lock } => {
            format!("{},{}", trace.condition_name(cond), trace.lock_name(lock))
        }
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
            trace.condition_name(cond).to_owned()
        }
        EventKind::Post { sem } | EventKind::Down { sem } => trace.semaphore_name(sem).to_owned(),
        EventKind::Arrive { barrier } | EventKind::Leave { barrier } => {
            trace.barrier_name(barrier).to_owned()
        }
        EventKind::Fork { thread } | EventKind::Join { thread } => {
            trace.thread_name(thread).to_owned()
        }
        EventKind::Begin { label } | EventKind::End { label } => {
            label.map_or(String::new(), |l| trace.label_name(l).to_owned())
        }
        EventKind::Guard { expr } => foretell_trace::expr::print_clipped(trace, expr),
        EventKind::Alloc { block } | EventKind::Free { block } => {
            trace.mem_block_name(block).to_owned()
        }
        EventKind::Fence => String::new(),
    };
    let brackets = if object.is_empty() { String::new() } else { format!("({object})") };
    format!("event {} ({} {keyword}{brackets})", e.0, trace.thread_name(event.thread))
}
