//! A number that tells traces apart.

use foretell_trace::{EventKind, LockId, MemoryOrder, ThreadId, Trace, Value, ValueId, VarId};

/// A number that differs (but for the odd chance of a hash) when the events of two traces do.
///
/// Threads and objects count by name and values by themselves, so it is the same for a trace in
/// whatever format it was read from. It guards against mistakes, not against forgery.
pub(super) fn fingerprint(trace: &Trace) -> u64 {
    let names = NameHashes::new(trace);
    let value = |id: Option<ValueId>| match id.and_then(|id| trace.values().get(id)) {
        None => 0,
        Some(Value::Int(i)) => mix(1, i as u64),
        Some(Value::Bits { width, bits }) => mix(2 + u64::from(width), bits),
    };
    let mut hash = 0;
    for event in trace.events() {
        hash = mix(hash, event.kind.op() as u64);
        hash = mix(hash, names.threads[event.thread.index()]);
        hash = mix(hash, names.object(trace, event.kind));
        if event.order != MemoryOrder::default() {
            hash = mix(hash, event.order as u64);
        }
        if event.kind.op().is_access() {
            hash = mix(hash, value(trace.read_value(event.id)));
            hash = mix(hash, value(trace.written_value(event.id)));
        }
    }
    hash
}

/// Hashes of the names that nearly every event uses.
struct NameHashes {
    threads: Vec<u64>,
    variables: Vec<u64>,
    locks: Vec<u64>,
}

impl NameHashes {
    fn new(trace: &Trace) -> Self {
        let hashes =
            |count: usize, name: &dyn Fn(u32) -> u64| (0..count as u32).map(name).collect();
        NameHashes {
            threads: hashes(trace.thread_count(), &|i| hash_text(trace.thread_name(ThreadId(i)))),
            variables: hashes(trace.variable_count(), &|i| {
                hash_text(trace.variable_name(VarId(i)))
            }),
            locks: hashes(trace.lock_count(), &|i| hash_text(trace.lock_name(LockId(i)))),
        }
    }

    fn object(&self, trace: &Trace, kind: EventKind) -> u64 {
        match kind {
            EventKind::Read { var, .. }
            | EventKind::Write { var, .. }
            | EventKind::Update { var, .. } => self.variables[var.index()],
            EventKind::Acquire { lock }
            | EventKind::Release { lock }
            | EventKind::AcquireShared { lock }
            | EventKind::TryAcquire { lock }
            | EventKind::TryAcquireShared { lock }
            | EventKind::ReleaseShared { lock }
            | EventKind::TryFailed { lock }
            | EventKind::TryFailedShared { lock } => self.locks[lock.index()],
            EventKind::Wait { cond, lock }
            | EventKind::Woken { cond, lock }
            | EventKind::TimedOut { cond, lock } => {
                mix(hash_text(trace.condition_name(cond)), self.locks[lock.index()])
            }
            EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
                hash_text(trace.condition_name(cond))
            }
            EventKind::Post { sem } | EventKind::Down { sem } => {
                hash_text(trace.semaphore_name(sem))
            }
            EventKind::Arrive { barrier } | EventKind::Leave { barrier } => {
                hash_text(trace.barrier_name(barrier))
            }
            EventKind::Fork { thread } | EventKind::Join { thread } => self.threads[thread.index()],
            EventKind::Begin { label } | EventKind::End { label } => {
                label.map_or(0, |label| hash_text(trace.label_name(label)))
            }
            EventKind::Alloc { block } | EventKind::Free { block } => {
                hash_text(trace.mem_block_name(block))
            }
            EventKind::Guard { .. } | EventKind::Fence => 0,
        }
    }
}

/// One step of a multiply-and-fold hash.
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
    (product as u64) ^ ((product >> 64) as u64).rotate_left(17)
}

fn hash_text(text: &str) -> u64 {
    text.bytes().fold(text.len() as u64, |hash, byte| mix(hash, u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_trace::TraceBuilder;

    /// Two threads that write `value` and read, their names interned in the given order.
    fn trace(first: &str, value: i64, order: [&str; 2]) -> Trace {
        let mut b = TraceBuilder::new();
        for name in order {
            b.variable(name);
        }
        let (t, x, y) = (b.thread(first), b.variable("x"), b.variable("y"));
        let value = Some(b.values().intern(Value::Int(value)));
        b.push(t, EventKind::Write { var: x, atomic: false, value, expr: None }, None);
        b.push(t, EventKind::Read { var: y, atomic: false, value: None, register: None }, None);
        b.build()
    }

    #[test]
    fn names_and_values_count_and_identifiers_do_not() {
        let base = fingerprint(&trace("T1", 5, ["x", "y"]));
        assert_eq!(base, fingerprint(&trace("T1", 5, ["y", "x"])));
        assert_ne!(base, fingerprint(&trace("T2", 5, ["x", "y"])));
        assert_ne!(base, fingerprint(&trace("T1", 6, ["x", "y"])));
        assert_ne!(base, fingerprint(&Trace::default()));
    }
}
