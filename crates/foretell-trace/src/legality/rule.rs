//! The rules a trace can break, and how to say so.

use std::fmt;

use crate::{
    CondId, Event, EventId, EventKind, ExprId, LockId, ThreadId, Trace, Value, ValueId, VarId,
};

/// The rule of semantics section 1 that an event breaks, with the other actors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
#[allow(missing_docs)] // The fields are the actors that the variant's documentation names.
pub enum Rule {
    /// A lock is taken that a thread holds, exclusively or shared, since an event.
    LockHeld { lock: LockId, by: ThreadId, since: EventId, shared: bool },
    /// A lock is released, or waited with, that the thread does not own.
    NotOwner { lock: LockId, owner: Option<(ThreadId, EventId)> },
    /// The reader side of a lock is released that the thread does not hold.
    NotShared { lock: LockId },
    /// A thread does something else while it is in a wait.
    InsideWait { cond: CondId, lock: LockId, wait: EventId },
    /// A wait ends that the thread is not in.
    NotWaiting { cond: CondId },
    /// A wait ends as notified, but nothing is left that could have notified it.
    NotNotified { cond: CondId, wait: EventId, passed_over: bool },
    /// A wait ends as timed out, but a notify must have woken it.
    Notified { cond: CondId, wait: EventId, notify: EventId },
    /// A semaphore is decremented whose count is 0.
    SemaphoreEmpty,
    /// A barrier is used whose number of parties is not declared, or declared as 0.
    NoParties { declared: bool },
    /// A barrier is left by a thread that did not arrive since it last left.
    NotArrived,
    /// A barrier is left before all parties arrived.
    BarrierNotFull { arrived: u64, parties: u32 },
    /// A thread is forked again.
    ForkedTwice { fork: EventId },
    /// A thread is forked that has run before, or that was joined before.
    ForkedLate,
    /// A thread forks itself.
    ForksItself,
    /// A thread runs before the event that forks it.
    StartsBeforeFork { fork: EventId },
    /// A thread is joined that has later events.
    RunsOn { last: EventId },
    /// A thread joins itself.
    JoinsItself,
    /// A block ends that did not begin.
    EndWithoutBegin,
    /// A read sees something else than the last write (or the initial value, if none).
    WrongValue { var: VarId, seen: ValueId, expected: ValueId, writer: Option<EventId> },
    /// A guard is false for the recorded values.
    GuardFalse { expr: ExprId },
    /// The expression of a write gives another value than the recorded one.
    WrongExpression { expr: ExprId, written: ValueId, computed: Value },
}

/// The event at which a trace stops being a legal execution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Illegal {
    /// The event that is not enabled.
    pub event: EventId,
    /// The rule that it breaks.
    pub rule: Rule,
    /// Description of the violation.
    pub message: String,
}

impl fmt::Display for Illegal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {}: {}", self.event.0, self.message)
    }
}

impl std::error::Error for Illegal {}

impl Illegal {
    #[cold]
    pub(super) fn new(trace: &Trace, event: &Event, rule: Rule) -> Illegal {
        Illegal { event: event.id, rule, message: message(trace, event, rule) }
    }
}

fn message(trace: &Trace, event: &Event, rule: Rule) -> String {
    let t = trace.thread_name(event.thread);
    match rule {
        Rule::LockHeld { .. } | Rule::NotOwner { .. } | Rule::NotShared { .. } => {
            lock_message(trace, event, rule)
        }
        Rule::InsideWait { .. }
        | Rule::NotWaiting { .. }
        | Rule::NotNotified { .. }
        | Rule::Notified { .. } => wait_message(trace, event, rule),
        Rule::SemaphoreEmpty => {
            format!("semaphore {} has count 0: {t} cannot take it", object(trace, event))
        }
        Rule::NoParties { declared: false } => {
            let b = object(trace, event);
            format!(
                "barrier {b} has no declared number of parties: declare it (`#! barrier {b}=N`)"
            )
        }
        Rule::NoParties { declared: true } => {
            format!("barrier {} is declared with 0 parties", object(trace, event))
        }
        Rule::NotArrived => format!(
            "{t} leaves barrier {}, but has not arrived there since it last left",
            object(trace, event)
        ),
        Rule::BarrierNotFull { arrived, parties } => format!(
            "{t} leaves barrier {}, but only {arrived} of {parties} parties have arrived",
            object(trace, event)
        ),
        Rule::ForkedTwice { .. }
        | Rule::ForkedLate
        | Rule::ForksItself
        | Rule::StartsBeforeFork { .. }
        | Rule::RunsOn { .. }
        | Rule::JoinsItself => thread_message(trace, event, rule),
        Rule::EndWithoutBegin => format!("{t} ends an atomic block, but none is open"),
        Rule::WrongValue { .. } => value_message(trace, rule),
        Rule::GuardFalse { .. } => {
            format!("the guard is false for the values that {t} read before it")
        }
        Rule::WrongExpression { written, computed, .. } => format!(
            "{t} writes {}, but the expression comes to {computed} for the values that it read",
            value(trace, written)
        ),
    }
}

fn lock_message(trace: &Trace, event: &Event, rule: Rule) -> String {
    let t = trace.thread_name(event.thread);
    let woken = matches!(event.kind, EventKind::Woken { .. } | EventKind::TimedOut { .. });
    match rule {
        Rule::LockHeld { lock, by, since, shared } => {
            let (l, by) = (trace.lock_name(lock), trace.thread_name(by));
            let how = if shared { "held shared" } else { "owned" };
            let what = if woken { " again after its wait" } else { "" };
            format!(
                "lock {l} is {how} by {by}, which took it at event {}: {t} cannot take it{what}",
                since.0
            )
        }
        Rule::NotOwner { lock, owner } => {
            let l = trace.lock_name(lock);
            let what = match event.kind {
                EventKind::Wait { .. } => "waits with",
                _ => "releases",
            };
            match owner {
                Some((owner, since)) => format!(
                    "{t} {what} lock {l}, which is owned by {}, which took it at event {}",
                    trace.thread_name(owner),
                    since.0
                ),
                None => format!("{t} {what} lock {l}, which it does not own"),
            }
        }
        Rule::NotShared { lock } => format!(
            "{t} releases the reader side of lock {}, which it does not hold",
            trace.lock_name(lock)
        ),
        _ => String::new(),
    }
}

fn wait_message(trace: &Trace, event: &Event, rule: Rule) -> String {
    let t = trace.thread_name(event.thread);
    match rule {
        Rule::InsideWait { cond, lock, wait } => {
            let (c, l) = (trace.condition_name(cond), trace.lock_name(lock));
            format!(
                "{t} waits for {c} since event {}: its next event must be woken({c},{l}) or \
                 timedout({c},{l})",
                wait.0
            )
        }
        Rule::NotWaiting { cond } => {
            let c = trace.condition_name(cond);
            match event.kind {
                EventKind::TimedOut { .. } => {
                    format!("{t}'s wait for {c} times out, but it is not waiting")
                }
                _ => format!("{t} is woken from {c}, but it is not waiting"),
            }
        }
        Rule::NotNotified { cond, wait, passed_over: false } => format!(
            "{t} is woken from {}, but no notify came after its wait (event {})",
            trace.condition_name(cond),
            wait.0
        ),
        Rule::NotNotified { cond, wait, passed_over: true } => format!(
            "{t} is woken from {}, but every notify after its wait (event {}) woke another thread",
            trace.condition_name(cond),
            wait.0
        ),
        Rule::Notified { cond, wait, notify } => format!(
            "{t}'s wait for {} (event {}) times out, but the notify at event {} must have woken it",
            trace.condition_name(cond),
            wait.0,
            notify.0
        ),
        _ => String::new(),
    }
}

fn thread_message(trace: &Trace, event: &Event, rule: Rule) -> String {
    let t = trace.thread_name(event.thread);
    let other = object(trace, event);
    match rule {
        Rule::ForkedTwice { fork } => {
            format!("{other} is forked again: it was forked at event {}", fork.0)
        }
        Rule::ForkedLate => {
            format!("{other} is forked here, but has already started or was joined")
        }
        Rule::ForksItself => format!("{t} forks itself"),
        Rule::StartsBeforeFork { fork } => {
            format!("{t} starts before it is forked at event {}", fork.0)
        }
        Rule::RunsOn { last } => {
            format!("{t} joins {other}, but {other} runs on until event {}", last.0)
        }
        Rule::JoinsItself => format!("{t} joins itself"),
        _ => String::new(),
    }
}

fn value_message(trace: &Trace, rule: Rule) -> String {
    let Rule::WrongValue { var, seen, expected, writer } = rule else { return String::new() };
    let x = trace.variable_name(var);
    let (seen, expected) = (value(trace, seen), value(trace, expected));
    let but = match writer {
        Some(w) => format!("the last write (event {}) wrote {expected}", w.0),
        None => format!("no write came before it and the initial value is {expected}"),
    };
    format!(
        "read of {x} sees {seen}, but {but}: code that was not recorded must have written; \
         declare {x} opaque (`#! opaque {x}`)"
    )
}

fn value(trace: &Trace, id: ValueId) -> String {
    trace.values().get(id).map_or_else(|| "?".to_owned(), |v| v.to_string())
}

/// The name of the event's semaphore, barrier or other thread.
fn object<'a>(trace: &'a Trace, event: &Event) -> &'a str {
    match event.kind {
        EventKind::Post { sem } | EventKind::Down { sem } => trace.semaphore_name(sem),
        EventKind::Arrive { barrier } | EventKind::Leave { barrier } => trace.barrier_name(barrier),
        EventKind::Fork { thread } | EventKind::Join { thread } => trace.thread_name(thread),
        _ => "",
    }
}
