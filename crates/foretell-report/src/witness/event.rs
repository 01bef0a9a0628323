//! One event as trace text writes it.

use std::borrow::Cow;

use foretell_trace::{EventId, EventKind, MemoryOrder, RegId, Trace, Value, VarId};

/// Conditions of guards are cut off after so many characters.
const LONGEST_CONDITION: usize = 80;

/// Value in the text of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// The value of the trace, or nothing.
    Recorded(Option<Value>),
    /// A value that differs from the one in the trace.
    Other {
        /// The value here.
        now: Value,
        /// The value in the trace.
        was: Value,
    },
    /// No value.
    Nothing,
}

/// Returns an event as trace text writes it, without its thread and location, with the given
/// values: `w(x=5)`, `acq(l)`.
pub(crate) fn describe(trace: &Trace, event: EventId, read: Shown, written: Shown) -> String {
    let kind = trace.event(event).kind;
    let word = match trace.order(event) {
        MemoryOrder::SeqCst => Cow::from(kind.op().keyword()),
        order => Cow::from(format!("{}.{}", kind.op().keyword(), order.keyword())),
    };
    let object = match kind {
        EventKind::Read { var, register, .. } => {
            let (x, to) = (trace.variable_name(var), into(trace, register));
            return format!("{word}({x}{}){to}", equals(trace, var, read));
        }
        EventKind::Write { var, .. } => {
            return format!("{word}({}{})", trace.variable_name(var), equals(trace, var, written));
        }
        EventKind::Update { var, register, .. } => {
            let new = equals(trace, var, written);
            let new = new.strip_prefix('=').map(|v| format!(">{v}")).unwrap_or_default();
            let (x, to) = (trace.variable_name(var), into(trace, register));
            return format!("{word}({x}{}{new}){to}", equals(trace, var, read));
        }
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryFailed { lock }
        | EventKind::TryFailedShared { lock } => trace.lock_name(lock),
        EventKind::Wait { cond, lock }
        | EventKind::Woken { cond, lock }
        | EventKind::TimedOut { cond, lock } => {
            return format!("{word}({},{})", trace.condition_name(cond), trace.lock_name(lock));
        }
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => trace.condition_name(cond),
        EventKind::Post { sem } | EventKind::Down { sem } => trace.semaphore_name(sem),
        EventKind::Arrive { barrier } | EventKind::Leave { barrier } => trace.barrier_name(barrier),
        EventKind::Fork { thread } | EventKind::Join { thread } => trace.thread_name(thread),
        EventKind::Begin { label: Some(label) } | EventKind::End { label: Some(label) } => {
            trace.label_name(label)
        }
        EventKind::Alloc { block } | EventKind::Free { block } => trace.mem_block_name(block),
        EventKind::Fence => return word.into_owned(),
        EventKind::Guard { expr } => return format!("{word}({})", condition(trace, expr)),
        EventKind::Begin { label: None } | EventKind::End { label: None } => {
            return word.into_owned();
        }
    };
    format!("{word}({object})")
}

/// The condition of a guard, as trace text writes it unless it is long.
pub(crate) fn condition(trace: &Trace, expr: foretell_trace::ExprId) -> String {
    let text = foretell_trace::expr::print_clipped(trace, expr);
    match text.char_indices().nth(LONGEST_CONDITION) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// `->%a`, or nothing.
pub(crate) fn into(trace: &Trace, register: Option<RegId>) -> String {
    let known = register.filter(|r| r.index() < trace.register_count());
    known.map_or_else(String::new, |r| format!("->%{}", trace.register_name(r)))
}

/// `=5`, `=7, was 5`, or nothing.
fn equals(trace: &Trace, var: VarId, shown: Shown) -> String {
    let text = |value| trace.shown_value(var, value);
    match shown {
        Shown::Nothing | Shown::Recorded(None) => String::new(),
        Shown::Recorded(Some(value)) => format!("={}", text(value)),
        Shown::Other { now, was } => format!("={}, was {}", text(now), text(was)),
    }
}
