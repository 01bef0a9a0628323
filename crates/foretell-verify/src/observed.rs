//! Facts of the trace itself, in one pass: the order in each thread, the write that each read saw,
//! the initial values, and the atomic blocks.

use foretell_trace::{EventId, EventKind, Op, ThreadId, Trace, ValueId, VarId};

use crate::refusal::{Refusal, Rule};

/// "None" in a column of event indices.
const NONE: u32 = u32::MAX;

fn some(column: u32) -> Option<EventId> {
    (column != NONE).then_some(EventId(column))
}

/// The facts of a trace that rules and patterns refer to.
#[derive(Debug)]
pub(crate) struct Observed {
    /// For each event, the next one of its thread.
    next: Vec<u32>,
    /// For each thread, its first event and how many it has.
    first: Vec<u32>,
    length: Vec<u32>,
    /// For each event, the last write of its variable before it (meant for accesses).
    writer: Vec<u32>,
    /// For each variable, its last write.
    last_write: Vec<u32>,
    initial: Vec<Option<ValueId>>,
    /// For each thread, whether some event forks it.
    forked: Vec<bool>,
    /// For each event, the `begin` of the outermost block around it (markers included), else
    /// itself.
    transaction: Vec<u32>,
}

impl Observed {
    /// Reads the trace; refuses one that names what it does not declare.
    pub(crate) fn of(trace: &Trace) -> Result<Observed, Refusal> {
        let (threads, variables) = (trace.thread_count(), trace.variable_count());
        let mut o = Observed {
            next: vec![NONE; trace.len()],
            first: vec![NONE; threads],
            length: vec![0; threads],
            writer: vec![NONE; trace.len()],
            last_write: vec![NONE; variables],
            initial: (0..variables)
                .map(|x| trace.declared_initial_value(VarId::from_index(x)))
                .collect(),
            forked: vec![false; threads],
            transaction: Vec::with_capacity(trace.len()),
        };
        let mut last = vec![NONE; threads];
        let mut open = vec![(NONE, 0usize); threads];
        for e in trace.ids() {
            foretell_limit::check();
            let event = trace.event(e);
            let t = event.thread.index();
            if t >= threads || !declared(trace, event.kind) {
                let message = "names something that the trace does not declare".to_owned();
                return Err(Refusal::at(trace, Rule::Malformed, e, None, message));
            }
            match some(last[t]) {
                Some(before) => o.next[before.index()] = e.0,
                None => o.first[t] = e.0,
            }
            last[t] = e.0;
            o.length[t] += 1;
            o.transaction.push(transaction(&mut open[t], e, event.kind));
            match event.kind {
                EventKind::Fork { thread } => o.forked[thread.index()] = true,
                _ => o.note_access(trace, e),
            }
        }
        Ok(o)
    }

    /// Which write it saw; what the first read with a known value before every write says of the
    /// initial value (an update is first a read, then a write).
    fn note_access(&mut self, trace: &Trace, e: EventId) {
        if let EventKind::Free { block } = trace.event(e).kind {
            // A plain write of every variable in the block.
            for x in trace.variables_in(block) {
                self.last_write[x.index()] = e.0;
            }
            return;
        }
        let Some(x) = trace.variable(e).map(VarId::index) else { return };
        self.writer[e.index()] = self.last_write[x];
        if self.last_write[x] == NONE && self.initial[x].is_none() {
            self.initial[x] = trace.read_value(e);
        }
        if trace.op(e).writes() {
            self.last_write[x] = e.0;
        }
    }

    /// The event after `e` in its thread.
    pub(crate) fn next(&self, e: EventId) -> Option<EventId> {
        some(self.next[e.index()])
    }

    /// The first event of a thread.
    pub(crate) fn first(&self, t: ThreadId) -> Option<EventId> {
        some(self.first[t.index()])
    }

    /// Returns the number of events of a thread.
    pub(crate) fn length(&self, t: ThreadId) -> u32 {
        self.length[t.index()]
    }

    /// The write that the access `e` saw in the trace; `None` is the initial value.
    pub(crate) fn writer(&self, e: EventId) -> Option<EventId> {
        some(self.writer[e.index()])
    }

    /// The last write of a variable in the trace.
    pub(crate) fn last_write(&self, x: VarId) -> Option<EventId> {
        some(self.last_write[x.index()])
    }

    /// The initial value of a variable: declared, or seen before every write.
    pub(crate) fn initial(&self, x: VarId) -> Option<ValueId> {
        self.initial[x.index()]
    }

    /// The transaction of an event, by the `begin` of the outermost block or by the event itself.
    pub(crate) fn transaction(&self, e: EventId) -> EventId {
        EventId(self.transaction[e.index()])
    }

    /// Whether a thread may start only after a fork.
    pub(crate) fn is_forked(&self, t: ThreadId) -> bool {
        self.forked[t.index()]
    }
}

/// The transaction of the next event of a thread, which has `open.1` blocks open, the outermost
/// since `open.0`.
fn transaction(open: &mut (u32, usize), e: EventId, kind: EventKind) -> u32 {
    let (begin, depth) = *open;
    match kind {
        EventKind::Begin { .. } => {
            *open = (if depth == 0 { e.0 } else { begin }, depth + 1);
            open.0
        }
        // An `end` without a block is illegal; it closes nothing.
        EventKind::End { .. } if depth > 0 => {
            open.1 -= 1;
            begin
        }
        _ if depth > 0 => begin,
        _ => e.0,
    }
}

/// Whether every object that the event names is one of the trace's.
fn declared(trace: &Trace, kind: EventKind) -> bool {
    match kind {
        EventKind::Read { var, .. }
        | EventKind::Write { var, .. }
        | EventKind::Update { var, .. } => var.index() < trace.variable_count(),
        EventKind::Acquire { lock }
        | EventKind::Release { lock }
        | EventKind::AcquireShared { lock }
        | EventKind::TryAcquire { lock }
        | EventKind::TryAcquireShared { lock }
        | EventKind::ReleaseShared { lock }
        | EventKind::TryFailed { lock }
        | EventKind::TryFailedShared { lock } => lock.index() < trace.lock_count(),
        EventKind::Wait { cond, lock }
        | EventKind::Woken { cond, lock }
        | EventKind::TimedOut { cond, lock } => {
            cond.index() < trace.condition_count() && lock.index() < trace.lock_count()
        }
        EventKind::Notify { cond } | EventKind::NotifyAll { cond } => {
            cond.index() < trace.condition_count()
        }
        EventKind::Post { sem } | EventKind::Down { sem } => sem.index() < trace.semaphore_count(),
        EventKind::Arrive { barrier } | EventKind::Leave { barrier } => {
            barrier.index() < trace.barrier_count()
        }
        EventKind::Fork { thread } | EventKind::Join { thread } => {
            thread.index() < trace.thread_count()
        }
        EventKind::Alloc { block } | EventKind::Free { block } => {
            let known = |x: &VarId| x.index() < trace.variable_count();
            block.index() < trace.mem_block_count() && trace.variables_in(block).iter().all(known)
        }
        EventKind::Begin { .. }
        | EventKind::End { .. }
        | EventKind::Guard { .. }
        | EventKind::Fence => true,
    }
}

/// An atomic block: its thread and its markers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub(crate) thread: ThreadId,
    pub(crate) begin: EventId,
    /// `None` if the block is still open at the end of the trace.
    pub(crate) end: Option<EventId>,
}

impl Block {
    /// The block that `begin` opens; `None` if it opens none.
    pub(crate) fn opened_by(trace: &Trace, begin: EventId) -> Option<Block> {
        if begin.index() >= trace.len() || trace.op(begin) != Op::Begin {
            return None;
        }
        let thread = trace.thread(begin);
        let rest = (begin.0 + 1..trace.len() as u32).map(EventId);
        let mut inner = 0usize;
        for e in rest.filter(|&e| trace.thread(e) == thread) {
            match trace.op(e) {
                Op::Begin => inner += 1,
                Op::End if inner == 0 => return Some(Block { thread, begin, end: Some(e) }),
                Op::End => inner -= 1,
                _ => {}
            }
        }
        Some(Block { thread, begin, end: None })
    }

    /// Whether an event of the trace is inside the block.
    pub(crate) fn holds(&self, trace: &Trace, e: EventId) -> bool {
        trace.thread(e) == self.thread && self.begin < e && self.end.is_none_or(|end| e < end)
    }
}
