//! One event as trace text writes it.

use foretell_trace::{EventId, EventKind, Trace, ValueId};

/// What to write where a value goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// The value of the trace, or nothing.
    Recorded(Option<ValueId>),
    /// A value that differs from the one in the trace.
    Other {
        /// The value here.
        now: ValueId,
        /// The value in the trace.
        was: ValueId,
    },
    /// No value.
    Nothing,
}

/// An event as trace text writes it, without its thread and place: `w(x=5)`, `acq(l)`.
///
/// # Panics
/// If the trace has no such event.
pub fn describe_event(trace: &Trace, event: EventId) -> String {
    let (read, written) = (trace.read_value(event), trace.written_value(event));
    describe(trace, event, Shown::Recorded(read), Shown::Recorded(written))
}

/// The same with the given values.
pub(crate) fn describe(trace: &Trace, event: EventId, read: Shown, written: Shown) -> String {
    let kind = trace.event(event).kind;
    let word = kind.op().keyword();
    let object = match kind {
        EventKind::Read { var, .. } => {
            return format!("{word}({}{})", trace.variable_name(var), equals(trace, read));
        }
        EventKind::Write { var, .. } => {
            return format!("{word}({}{})", trace.variable_name(var), equals(trace, written));
        }
        EventKind::Update { var, .. } => {
            let new = equals(trace, written);
            let new = new.strip_prefix('=').map(|v| format!(">{v}")).unwrap_or_default();
            return format!("{word}({}{}{new})", trace.variable_name(var), equals(trace, read));
        }
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryFailed { lock } => trace.lock_name(lock),
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
        EventKind::Begin { label: None }
        | EventKind::End { label: None }
        | EventKind::Guard { .. } => return word.to_owned(),
    };
    format!("{word}({object})")
}

/// `=5`, `=7, was 5`, or nothing.
fn equals(trace: &Trace, shown: Shown) -> String {
    let text = |value: ValueId| match trace.values().get(value) {
        Some(value) => value.to_string(),
        None => "?".to_owned(),
    };
    match shown {
        Shown::Nothing | Shown::Recorded(None) => String::new(),
        Shown::Recorded(Some(value)) => format!("={}", text(value)),
        Shown::Other { now, was } => format!("={}, was {}", text(now), text(was)),
    }
}
