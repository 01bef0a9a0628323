//! The events of a lifetime violation in words: the end of a block, and the use of it.

use foretell_trace::{CondId, EventId, EventKind, LockId, MemBlockId, Op, Trace};

/// A verb and its object.
pub(crate) struct Act {
    verb: &'static str,
    noun: &'static str,
    /// Name of the object.
    pub(crate) object: String,
}

impl Act {
    /// Returns the act after `can`: ``read `x` ``.
    pub(crate) fn bare(&self) -> String {
        format!("{} {}`{}`", self.verb, self.noun, self.object)
    }

    /// Returns the act after a name: ``reads `x` ``.
    pub(crate) fn of_third_person(&self) -> String {
        format!("{}s {}`{}`", self.verb, self.noun, self.object)
    }
}

/// Returns the act of an event of a lifetime violation.
pub(crate) fn act(trace: &Trace, e: EventId) -> Act {
    if let Some(x) = trace.variable(e) {
        let object = trace.variable_name(x).to_owned();
        return Act { verb: action(trace, e), noun: "", object };
    }
    let lock = |l| Act { verb: "use", noun: "the lock ", object: trace.lock_name(l).to_owned() };
    let condition = |c| {
        if let Some(block) = trace.block_of_condition(c).filter(|_| is_java(trace)) {
            let object = trace.mem_block_name(block).to_owned();
            return Act { verb: "use", noun: "", object };
        }
        let object = trace.condition_name(c).to_owned();
        Act { verb: "use", noun: "the condition ", object }
    };
    match trace.event(e).kind {
        EventKind::Free { block } => Act {
            verb: match (is_java(trace), is_lock_or_condition(trace, block)) {
                (true, _) => "close",
                (_, true) => "destroy",
                _ => "free",
            },
            noun: "",
            object: trace.mem_block_name(block).to_owned(),
        },
        EventKind::Wait { cond, lock: l }
        | EventKind::Woken { cond, lock: l }
        | EventKind::TimedOut { cond, lock: l } => match trace.block_of_condition(cond) {
            Some(_) => condition(cond),
            None => lock(l),
        },
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => condition(cond),
        EventKind::Acquire { lock: l }
        | EventKind::Release { lock: l }
        | EventKind::AcquireShared { lock: l }
        | EventKind::ReleaseShared { lock: l }
        | EventKind::TryFailed { lock: l }
        | EventKind::TryFailedShared { lock: l }
        | EventKind::TryAcquire { lock: l }
        | EventKind::TryAcquireShared { lock: l } => lock(l),
        _ => Act { verb: "use", noun: "", object: "?".to_owned() },
    }
}

/// Whether blocks are resources of a Java program, which end with `close`.
fn is_java(trace: &Trace) -> bool {
    trace.meta().get("language").is_some_and(|language| language == "java")
}

/// Whether a block is a lock or a condition, and no memory with variables.
fn is_lock_or_condition(trace: &Trace, block: MemBlockId) -> bool {
    let mut locks = (0..trace.lock_count()).map(|l| trace.block_of_lock(LockId(l as u32)));
    let mut conditions =
        (0..trace.condition_count()).map(|c| trace.block_of_condition(CondId(c as u32)));
    trace.variables_in(block).is_empty()
        && (locks.any(|b| b == Some(block)) || conditions.any(|b| b == Some(block)))
}

/// Returns the verb for an event: that of its operation, or `free`.
pub(crate) fn action(trace: &Trace, event: EventId) -> &'static str {
    if trace.is_free(event) { "free" } else { verb(trace.op(event)) }
}

fn verb(op: Op) -> &'static str {
    match op {
        Op::Read | Op::AtomicRead => "read",
        Op::AtomicUpdate => "update",
        _ => "write",
    }
}

#[cfg(test)]
mod tests {
    use foretell_trace::text;

    use super::*;

    #[test]
    fn every_use_has_its_words() {
        let lines = "#! part x b\n#! part m k\n#! part c k\nT1|r(x)\nT1|free(b)\nT1|acq(m)\n\
                     T1|notify(c)\nT1|wait(c,m)\nT2|free(k)";
        let trace = text::parse(lines.as_bytes()).expect("trace text").trace;
        let bare: Vec<String> = trace.ids().map(|e| act(&trace, e).bare()).collect();
        let words = ["read `x`", "free `b`", "use the lock `m`", "use the condition `c`"];
        assert_eq!(bare[..4], words);
        assert_eq!(bare[4..], ["use the condition `c`", "destroy `k`"]);
        assert_eq!(act(&trace, EventId(5)).of_third_person(), "destroys `k`");
        let trace = text::parse(b"T1|free(b)").expect("trace text").trace;
        assert_eq!(act(&trace, EventId(0)).bare(), "free `b`");
        let lines = "#! meta language=java\n#! part c b\nT1|notifyall(c)\nT2|free(b)";
        let trace = text::parse(lines.as_bytes()).expect("trace text").trace;
        let bare: Vec<String> = trace.ids().map(|e| act(&trace, e).bare()).collect();
        assert_eq!(bare, ["use `b`", "close `b`"]);
    }
}
