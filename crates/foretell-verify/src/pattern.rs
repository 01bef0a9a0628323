//! The findings (semantics section 3): does a feasible schedule show at its end what it is said to
//! show?
//!
//! Every pattern is recomputed from the trace and the schedule; nothing a finding claims is taken
//! on trust.

use foretell_trace::{
    EventId, EventKind, FindingKind, LockId, Model, NondeterminismForm, RunFailure, ThreadId,
    Trace, Value, VarId,
};

use crate::happens_before::happens_before;
use crate::observed::{Block, Observed};
use crate::refusal::{Refusal, Rule, describe};
use crate::run::Run;

/// The claim of a finding: the events of the trace that a schedule shows at its end, and their
/// roles.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Two accesses that race. The schedule ends with both, in some order.
    Race {
        /// One access.
        a: EventId,
        /// The other.
        b: EventId,
    },
    /// Two accesses that happens-before of the schedule does not order (section 3b). The schedule
    /// holds both and ends with the later one.
    Unordered {
        /// One access.
        a: EventId,
        /// The other.
        b: EventId,
    },
    /// An access of another thread between two accesses of an atomic block. The schedule ends with
    /// `c2`.
    Atomicity {
        /// The block's earlier access.
        c: EventId,
        /// The other thread's access.
        r: EventId,
        /// The block's later access, c' in the semantics.
        c2: EventId,
    },
    /// A path that leaves an atomic block and comes back. The schedule ends with the path's last
    /// access.
    Serializability {
        /// The marker that opens the block.
        begin: EventId,
        /// The marker that closes it; `None` if it is open at the end of the trace.
        end: Option<EventId>,
        /// s, u1, …, um, t.
        path: Vec<EventId>,
    },
    /// A cycle of transactions. The schedule ends with an access of the cycle.
    Transactions {
        /// The marker that opens the outermost block B.
        begin: EventId,
        /// The marker that closes it; `None` if it is open at the end of the trace.
        end: Option<EventId>,
        /// The accesses along the cycle; the last leads back to the first.
        cycle: Vec<EventId>,
    },
    /// A read that sees another write than in the trace. The schedule ends with it.
    NondeterministicRead {
        /// The read, or update.
        read: EventId,
        /// The write that it sees in the trace; `None` is the initial value.
        writer: Option<EventId>,
        /// The write that it sees in the schedule; `None` is the initial value.
        challenger: Option<EventId>,
        /// The order of the three; never [`NondeterminismForm::FinalValue`].
        form: NondeterminismForm,
    },
    /// A variable that ends with another last write. The schedule holds every event of the trace.
    FinalValue {
        /// The variable.
        var: VarId,
        /// Its last write in the trace.
        writer: EventId,
        /// Its last write in the schedule.
        challenger: EventId,
    },
    /// Threads that wait for each other: for locks, or for the end of a thread. The schedule ends
    /// in the stuck state, without the acquires and joins.
    Deadlock {
        /// The blocked acquires and joins, in any order.
        acquires: Vec<EventId>,
    },
    /// A state in which no thread can ever go on, and at least one waits for something other than a
    /// lock or the end of a thread. The schedule ends in that state, without these events.
    Hang {
        /// The next events of all threads that have one, in any order.
        blocked: Vec<EventId>,
    },
    /// The use of a block of memory after its end, by another thread: an access to a variable in
    /// it, another `free` of it, an operation on a lock or condition in it. The schedule ends with
    /// it.
    Lifetime {
        /// The `free` of the block.
        free: EventId,
        /// The use.
        used: EventId,
    },
    /// The failure of the recorded run itself. The schedule is empty: the trace is the witness.
    Observed {
        /// The last event of each thread involved, in ascending order.
        last: Vec<EventId>,
    },
}

impl Pattern {
    /// Returns the kind of finding whose schedule shows this pattern.
    pub fn kind(&self) -> FindingKind {
        match self {
            Pattern::Race { .. } | Pattern::Unordered { .. } => FindingKind::Race,
            Pattern::Atomicity { .. } => FindingKind::Atomicity,
            Pattern::Serializability { .. } => FindingKind::Serializability,
            Pattern::Transactions { .. } => FindingKind::Transactions,
            Pattern::NondeterministicRead { .. } | Pattern::FinalValue { .. } => {
                FindingKind::Nondeterminism
            }
            Pattern::Deadlock { .. } => FindingKind::Deadlock,
            Pattern::Hang { .. } => FindingKind::Hang,
            Pattern::Lifetime { .. } => FindingKind::Lifetime,
            Pattern::Observed { .. } => FindingKind::Observed,
        }
    }
}

pub(crate) type Check = Result<(), Refusal>;

/// A feasible schedule, to look for patterns in.
pub(crate) struct PatternCheck<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) model: Model,
    pub(crate) observed: &'a Observed,
    pub(crate) schedule: &'a [EventId],
    pub(crate) run: Run,
}

impl PatternCheck<'_> {
    pub(crate) fn check(&self, pattern: &Pattern) -> Check {
        match pattern {
            Pattern::Race { a, b } => self.race(*a, *b),
            Pattern::Unordered { a, b } => self.unordered(*a, *b),
            Pattern::Atomicity { c, r, c2 } => self.atomicity(*c, *r, *c2),
            Pattern::Serializability { begin, end, path } => self.path(*begin, *end, path),
            Pattern::Transactions { begin, end, cycle } => self.cycle(*begin, *end, cycle),
            Pattern::NondeterministicRead { read, writer, challenger, form } => {
                self.nondeterministic_read(*read, *writer, *challenger, *form)
            }
            Pattern::FinalValue { var, writer, challenger } => {
                self.final_value(*var, *writer, *challenger)
            }
            Pattern::Deadlock { acquires } => self.deadlock(acquires),
            Pattern::Hang { blocked } => self.hang(blocked),
            Pattern::Lifetime { free, used } => self.lifetime(*free, *used),
            Pattern::Observed { last } => self.failure(last),
        }
    }

    /// The trace carries a failure, and the events are the last ones of the threads that it names.
    fn failure(&self, last: &[EventId]) -> Check {
        let whole = |rule, message: &str| Err(Refusal::whole(rule, message));
        let Some(failure) = RunFailure::of(self.trace) else {
            return whole(Rule::NoFailure, "the trace carries no failure of the recorded run");
        };
        if let Some(&e) = self.schedule.first() {
            return self.refuse(Rule::NotRecordedOrder, e, "is in a schedule that must be empty");
        }
        let mut threads = Vec::new();
        for &e in last {
            if e.index() >= self.trace.len() {
                return self.refuse(Rule::NoSuchEvent, e, "is not in the trace");
            }
            let thread = self.trace.thread(e);
            if threads.contains(&thread) {
                return self.refuse(Rule::NotThreadEnd, e, "is of the thread of an earlier event");
            }
            threads.push(thread);
            let after = self.trace.ids().skip(e.index() + 1);
            if after.into_iter().any(|later| self.trace.thread(later) == thread) {
                return self.refuse(Rule::NotThreadEnd, e, "is not the last event of its thread");
            }
            let name = self.trace.thread_name(thread);
            if !failure.threads.iter().any(|(t, _)| t == name) {
                return self.refuse(Rule::NotInvolved, e, "its thread is not part of the failure");
            }
        }
        if !last.is_sorted() {
            return whole(Rule::Order, "the events are not in ascending order");
        }
        let involved = |t: &ThreadId| {
            let name = self.trace.thread_name(*t);
            failure.threads.iter().any(|(thread, _)| thread == name)
        };
        let missing = self.trace.ids().map(|e| self.trace.thread(e));
        if missing.filter(involved).any(|t| !threads.contains(&t)) {
            return whole(Rule::NotInvolved, "a thread of the failure has no event in the finding");
        }
        Ok(())
    }

    pub(crate) fn refuse(&self, rule: Rule, e: EventId, message: impl std::fmt::Display) -> Check {
        Err(Refusal::at(self.trace, rule, e, self.run.position(e), message))
    }

    /// An event of the trace that is in the schedule: its position.
    pub(crate) fn position(&self, e: EventId) -> Result<usize, Refusal> {
        let refusal = |rule, message| Refusal::at(self.trace, rule, e, None, message);
        if e.index() >= self.trace.len() {
            return Err(refusal(Rule::NoSuchEvent, "is not in the trace"));
        }
        self.run.position(e).ok_or_else(|| refusal(Rule::NotRun, "is not in the schedule"))
    }

    pub(crate) fn must_be_last(&self, e: EventId) -> Check {
        if self.schedule.last() == Some(&e) {
            return Ok(());
        }
        self.refuse(Rule::NotLast, e, "is not the schedule's last event")
    }

    /// The variables of an event that may take part in a finding: that of an access, those in the
    /// block of a `free`.
    fn accessed(&self, e: EventId) -> Result<Vec<VarId>, Refusal> {
        if e.index() < self.trace.len()
            && let EventKind::Free { block } = self.trace.event(e).kind
        {
            let all = self.trace.variables_in(block).to_vec();
            // A free that keeps its place among the accesses of an opaque variable is no access.
            if all.is_empty() || all.iter().any(|&x| self.trace.is_opaque(x)) {
                let message = "frees no variable, or an opaque one";
                return Err(Refusal::at(
                    self.trace,
                    Rule::NotAccess,
                    e,
                    self.run.position(e),
                    message,
                ));
            }
            return Ok(all);
        }
        Ok(vec![self.variable(e)?])
    }

    /// The variable of an access of the trace that may take part in a finding.
    fn variable(&self, e: EventId) -> Result<VarId, Refusal> {
        let refusal =
            |rule, message| Refusal::at(self.trace, rule, e, self.run.position(e), message);
        if e.index() >= self.trace.len() {
            return Err(refusal(Rule::NoSuchEvent, "is not in the trace"));
        }
        match self.trace.variable(e) {
            None => Err(refusal(Rule::NotAccess, "is no access to a variable")),
            Some(x) if self.trace.is_opaque(x) => {
                Err(refusal(Rule::Opaque, "its variable is also written by unrecorded code"))
            }
            Some(x) => Ok(x),
        }
    }

    /// Different threads, the same variable, one of them writes (a `free` does).
    fn conflict(&self, a: EventId, b: EventId) -> Result<bool, Refusal> {
        let (xs, ys) = (self.accessed(a)?, self.accessed(b)?);
        let same = xs.iter().any(|x| ys.contains(x));
        let writes = self.trace.op(a).writes() || self.trace.op(b).writes();
        Ok(same && writes && self.trace.thread(a) != self.trace.thread(b))
    }

    fn must_conflict(&self, a: EventId, b: EventId) -> Check {
        if self.conflict(a, b)? {
            return Ok(());
        }
        let other = describe(self.trace, a);
        self.refuse(Rule::NoConflict, b, format!("does not conflict with {other}"))
    }

    /// The schedule is feasible and ends with a and b, so without them it is feasible too, and
    /// leaves both pending in threads that are started and not cut: an access starts no thread and
    /// mends no cut.
    fn race(&self, a: EventId, b: EventId) -> Check {
        let last_two = &self.schedule[self.schedule.len().saturating_sub(2)..];
        for e in [a, b] {
            if !last_two.contains(&e) {
                let message = "is not one of the schedule's last two events";
                return self.refuse(Rule::NotLast, e, message);
            }
        }
        self.must_race(a, b)
    }

    /// The accesses conflict, and not both are atomic.
    fn must_race(&self, a: EventId, b: EventId) -> Check {
        self.must_conflict(a, b)?;
        if self.trace.op(a).is_atomic() && self.trace.op(b).is_atomic() {
            return self.refuse(Rule::BothAtomic, b, "both accesses are atomic");
        }
        Ok(())
    }

    /// Both accesses have run, the later one last, and nothing orders them.
    fn unordered(&self, a: EventId, b: EventId) -> Check {
        let (first, last) = if self.position(a)? < self.position(b)? { (a, b) } else { (b, a) };
        self.must_be_last(last)?;
        self.must_race(first, last)?;
        if happens_before(self.trace, self.schedule, first, last) {
            let message = format!("{} happens before it", describe(self.trace, first));
            return self.refuse(Rule::Ordered, last, message);
        }
        Ok(())
    }

    fn atomicity(&self, c: EventId, r: EventId, c2: EventId) -> Check {
        let (first, between, last) = (self.position(c)?, self.position(r)?, self.position(c2)?);
        if !(first < between && between < last) {
            return self.refuse(Rule::Order, r, "is not between the two accesses of the block");
        }
        self.must_be_last(c2)?;
        self.must_conflict(c, r)?;
        self.must_conflict(r, c2)?;
        // c is an access: where its transaction is not c itself, it is the outermost block around
        // it.
        let outermost = self.observed.transaction(c);
        if outermost == c || self.observed.transaction(c2) != outermost {
            let message = format!("shares no atomic block with {}", describe(self.trace, c));
            return self.refuse(Rule::OutsideBlock, c2, message);
        }
        self.must_be_real(c, r)?;
        self.must_be_real(r, c2)
    }

    /// `symbolic`: the conflict of `a` and the later `b` is real for the values at hand (section
    /// 6).
    fn must_be_real(&self, a: EventId, b: EventId) -> Check {
        if self.model != Model::Symbolic {
            return Ok(());
        }
        let differ = |v: Option<Value>, w: Option<Value>| v.is_none() || w.is_none() || v != w;
        let (first, second) =
            (self.run.change(self.position(a)?), self.run.change(self.position(b)?));
        let (earlier, later) = (self.trace.op(a), self.trace.op(b));
        let writes = earlier.writes() && later.writes() && differ(first.after, second.after);
        let read_write = earlier.reads() && later.writes() && differ(first.before, second.after);
        let write_read = earlier.writes() && later.reads() && differ(first.before, first.after);
        if writes || read_write || write_read {
            return Ok(());
        }
        let other = describe(self.trace, a);
        self.refuse(
            Rule::Commute,
            b,
            format!("commutes with {other} for the values in the schedule"),
        )
    }

    fn block(&self, begin: EventId, end: Option<EventId>) -> Result<Block, Refusal> {
        match Block::opened_by(self.trace, begin) {
            Some(block) if block.end == end => Ok(block),
            Some(_) => {
                let message = "the block does not end where the finding says";
                Err(Refusal::at(self.trace, Rule::NotBlock, begin, None, message))
            }
            None => {
                Err(Refusal::at(self.trace, Rule::NotBlock, begin, None, "opens no atomic block"))
            }
        }
    }

    fn path(&self, begin: EventId, end: Option<EventId>, path: &[EventId]) -> Check {
        let block = self.block(begin, end)?;
        let [s, between @ .., t] = path else {
            return Err(Refusal::whole(Rule::PathTooShort, "a path has at least three accesses"));
        };
        if between.is_empty() {
            return Err(Refusal::whole(Rule::PathTooShort, "a path has at least three accesses"));
        }
        for &e in [s, t] {
            self.accessed(e)?;
            if !block.holds(self.trace, e) {
                return self.refuse(Rule::OutsideBlock, e, "is not in the block");
            }
        }
        for &u in between {
            self.accessed(u)?;
            if self.trace.thread(u) == block.thread {
                return self.refuse(Rule::InsideThread, u, "is in the block's own thread");
            }
        }
        for step in path.windows(2) {
            let (a, b) = (step[0], step[1]);
            if self.position(a)? >= self.position(b)? {
                let message = format!("does not come after {}", describe(self.trace, a));
                return self.refuse(Rule::Order, b, message);
            }
            // Of the block's thread only s and t are on the path, and they are no neighbours: where
            // two neighbours are of one thread, it is another one.
            if self.trace.thread(a) != self.trace.thread(b) && !self.conflict(a, b)? {
                let message = format!("no step leads to it from {}", describe(self.trace, a));
                return self.refuse(Rule::NoStep, b, message);
            }
        }
        self.must_be_last(*t)
    }

    /// A closed walk through B that visits two transactions puts B on a cycle: the graph is
    /// directed, so B and the other one are in one strongly connected component.
    fn cycle(&self, begin: EventId, end: Option<EventId>, cycle: &[EventId]) -> Check {
        self.block(begin, end)?;
        if self.observed.transaction(begin) != begin {
            return self.refuse(Rule::NotOutermost, begin, "is inside another atomic block");
        }
        for &e in cycle {
            foretell_limit::check();
            self.accessed(e)?;
            self.position(e)?;
        }
        let transaction = |&e: &EventId| self.observed.transaction(e);
        if !cycle.iter().any(|e| transaction(e) == begin) {
            return self.refuse(
                Rule::OutsideBlock,
                begin,
                "no access of the cycle is in the block",
            );
        }
        if cycle.iter().all(|e| transaction(e) == begin) {
            return Err(Refusal::whole(
                Rule::OneTransaction,
                "the cycle stays inside one transaction",
            ));
        }
        for (i, &a) in cycle.iter().enumerate() {
            foretell_limit::check();
            let b = cycle[(i + 1) % cycle.len()];
            if !self.linked(a, b)? {
                let message = format!(
                    "nothing links it to {} before it on the cycle",
                    describe(self.trace, a)
                );
                return self.refuse(Rule::NoStep, b, message);
            }
        }
        match self.schedule.last() {
            Some(last) if cycle.contains(last) => Ok(()),
            _ => Err(Refusal::whole(
                Rule::NotLast,
                "the schedule does not end with an access of the cycle",
            )),
        }
    }

    /// One transaction; program order between transactions of a thread; or a conflict, forward in
    /// the schedule.
    fn linked(&self, a: EventId, b: EventId) -> Result<bool, Refusal> {
        let same_transaction = self.observed.transaction(a) == self.observed.transaction(b);
        let program_order = self.trace.thread(a) == self.trace.thread(b) && a < b;
        let forward = self.position(a)? < self.position(b)?;
        Ok(same_transaction || program_order || (forward && self.conflict(a, b)?))
    }

    fn nondeterministic_read(
        &self,
        read: EventId,
        writer: Option<EventId>,
        challenger: Option<EventId>,
        form: NondeterminismForm,
    ) -> Check {
        let x = self.variable(read)?;
        if !self.trace.op(read).reads() {
            return self.refuse(Rule::NotRead, read, "is no read");
        }
        self.must_be_last(read)?;
        let saw = |w: Option<EventId>| match w {
            Some(w) => describe(self.trace, w),
            None => "the initial value".to_owned(),
        };
        let in_trace = self.observed.writer(read);
        if in_trace != writer {
            return self.refuse(
                Rule::WrongWriter,
                read,
                format!("sees {} in the trace", saw(in_trace)),
            );
        }
        let in_schedule = self.seen_by_last(x);
        if in_schedule != challenger {
            let message = format!("sees {} in the schedule", saw(in_schedule));
            return self.refuse(Rule::WrongChallenger, read, message);
        }
        if !self.sees_otherwise(read) {
            return self.refuse(Rule::NotBroken, read, "sees what it saw in the trace");
        }
        if !self.fits(form, writer, challenger) {
            return self.refuse(
                Rule::WrongForm,
                read,
                "writer and challenger do not stand as the form says",
            );
        }
        Ok(())
    }

    /// The write that the schedule's last event, an access of `x`, sees.
    fn seen_by_last(&self, x: VarId) -> Option<EventId> {
        let (last, before) = self.schedule.split_last()?;
        if !self.trace.op(*last).writes() {
            return self.run.last_write(x);
        }
        // An update: it is itself the last write, what it saw is the one before it.
        let writes = |e: &&EventId| match self.trace.event(**e).kind {
            EventKind::Free { block } => self.trace.variables_in(block).contains(&x),
            kind => self.trace.variable(**e) == Some(x) && kind.op().writes(),
        };
        before.iter().rev().find(writes).copied()
    }

    /// Whether the read that ends the schedule is broken; in `symbolic`, whether it sees another
    /// value than in the trace (another write, where its value was not recorded).
    fn sees_otherwise(&self, read: EventId) -> bool {
        if self.model != Model::Symbolic {
            return self.run.broken().any(|b| b == read);
        }
        match (self.trace.read_value(read), self.trace.variable(read)) {
            (Some(value), _) => {
                let seen = self.run.change(self.schedule.len() - 1).before;
                seen.is_none() || seen != self.trace.values().get(value)
            }
            (None, Some(x)) => self.seen_by_last(x) != self.observed.writer(read),
            (None, None) => false,
        }
    }

    fn fits(
        &self,
        form: NondeterminismForm,
        writer: Option<EventId>,
        challenger: Option<EventId>,
    ) -> bool {
        let position = |e: EventId| self.run.position(e);
        let same = writer == challenger;
        match form {
            // The read is broken, so its own writer wrote something else: a broken update, or in
            // `symbolic` another value.
            NondeterminismForm::AfterWriter if same => true,
            // The initial value is before everything, and nothing is before it.
            NondeterminismForm::AfterWriter => challenger.is_some_and(|c| {
                writer.is_none_or(|w| position(w).is_some() && position(w) < position(c))
            }),
            NondeterminismForm::BeforeWriter => writer.is_some_and(|w| {
                position(w).is_none() && self.run.cut_by(self.trace.thread(w)).is_none()
            }),
            NondeterminismForm::WriterAbsent => writer.is_some_and(|w| position(w).is_none()),
            // That is the form of `Pattern::FinalValue`, which has no read.
            NondeterminismForm::FinalValue => false,
        }
    }

    fn final_value(&self, x: VarId, writer: EventId, challenger: EventId) -> Check {
        if x.index() >= self.trace.variable_count() {
            return Err(Refusal::whole(Rule::NoSuchEvent, "the trace has no such variable"));
        }
        if self.trace.is_opaque(x) {
            let name = self.trace.variable_name(x);
            let message = format!("variable {name} is also written by unrecorded code");
            return Err(Refusal::whole(Rule::Opaque, message));
        }
        // Feasible, so no event is there twice: as many as in the trace are all of them.
        if self.schedule.len() < self.trace.len() {
            let missing = self.trace.len() - self.schedule.len();
            let message = format!("{missing} events of the trace are not in the schedule");
            return Err(Refusal::whole(Rule::Incomplete, message));
        }
        if let Some(broken) = self.run.broken().next() {
            return self.refuse(Rule::Broken, broken, "is broken");
        }
        if self.observed.last_write(x) != Some(writer) {
            return self.refuse(Rule::WrongWriter, writer, "is not the last write in the trace");
        }
        if self.run.last_write(x) != Some(challenger) || challenger == writer {
            let message = "is not another last write in the schedule";
            return self.refuse(Rule::WrongChallenger, challenger, message);
        }
        if self.ends_with_equal_value(x, writer, challenger) {
            return self.refuse(Rule::SameValue, challenger, "leaves the value of the trace");
        }
        Ok(())
    }

    /// `value` and `symbolic`: whether the last write of the trace and that of the schedule are
    /// known to leave equal values.
    fn ends_with_equal_value(&self, x: VarId, writer: EventId, challenger: EventId) -> bool {
        let known = |e| self.trace.written_value(e).and_then(|v| self.trace.values().get(v));
        let ends_with = match self.model {
            Model::View => None,
            Model::Value => known(challenger),
            Model::Symbolic => self.run.value(x),
        };
        ends_with.is_some() && ends_with == known(writer)
    }

    fn deadlock(&self, acquires: &[EventId]) -> Check {
        for &a in acquires {
            if a.index() >= self.trace.len() {
                return self.refuse(Rule::NoSuchEvent, a, "is not in the trace");
            }
            if self.wanted_lock(a).is_none() && self.joined_thread(a).is_none() {
                return self.refuse(Rule::NotAcquire, a, "is no acquire and no join");
            }
            if self.run.pending(self.trace.thread(a)) != Some(a) {
                let message = "is not the next event of a thread that is started and not cut";
                return self.refuse(Rule::NotPending, a, message);
            }
        }
        let mut threads: Vec<ThreadId> = acquires.iter().map(|&a| self.trace.thread(a)).collect();
        threads.sort_unstable();
        threads.dedup();
        if acquires.len() < 2 || threads.len() < acquires.len() {
            let message = "a deadlock needs two acquires or more, of different threads";
            return Err(Refusal::whole(Rule::TooFew, message));
        }
        if !self.in_one_cycle(acquires) {
            let message = "the acquires do not wait for each other in one cycle";
            return Err(Refusal::whole(Rule::NoCycle, message));
        }
        Ok(())
    }

    /// The lock that an event asks for, and whether it is the reader side.
    fn wanted_lock(&self, e: EventId) -> Option<(LockId, bool)> {
        match self.trace.event(e).kind {
            EventKind::Acquire { lock } => Some((lock, false)),
            EventKind::AcquireShared { lock } => Some((lock, true)),
            _ => None,
        }
    }

    /// The thread that an event joins.
    fn joined_thread(&self, e: EventId) -> Option<ThreadId> {
        match self.trace.event(e).kind {
            EventKind::Join { thread } => Some(thread),
            _ => None,
        }
    }

    /// Whether `a` is not enabled because the thread of `b` holds its lock, or has not ended: `b`
    /// is still to come.
    fn blocked_by(&self, a: EventId, b: EventId) -> bool {
        let holder = self.trace.thread(b);
        if self.joined_thread(a) == Some(holder) {
            return true;
        }
        let Some((lock, reader)) = self.wanted_lock(a) else { return false };
        self.run.owner(lock) == Some(holder) || (!reader && self.run.shares(lock, holder))
    }

    /// Whether some order of the acquires is one cycle. Only a lock held by several readers leaves
    /// a choice of the next acquire; with readers enough that search could take forever, so it
    /// gives up after [`MOST_STEPS`]. Acquires that are listed in the order of the cycle are found
    /// without search.
    fn in_one_cycle(&self, acquires: &[EventId]) -> bool {
        let count = acquires.len();
        let blockers = |i: usize| -> Vec<usize> {
            let others = (1..count).map(|d| (i + d) % count);
            others.filter(|&j| self.blocked_by(acquires[i], acquires[j])).collect()
        };
        let edges: Vec<Vec<usize>> = (0..count).map(blockers).collect();
        let mut used = vec![false; count];
        // The acquires of the cycle so far, each with how many of its blockers were tried.
        let mut chosen = vec![(0, 0)];
        used[0] = true;
        for _ in 0..MOST_STEPS.saturating_add(count) {
            foretell_limit::check();
            let length = chosen.len();
            let Some((last, tried)) = chosen.last_mut() else { return false };
            if length == count && edges[*last].contains(&0) {
                return true;
            }
            match edges[*last].get(*tried) {
                Some(&next) => {
                    *tried += 1;
                    if !used[next] {
                        used[next] = true;
                        chosen.push((next, 0));
                    }
                }
                None => {
                    used[*last] = false;
                    chosen.pop();
                }
            }
        }
        false
    }
}

/// Limit on the search for the order of a cycle of acquires.
const MOST_STEPS: usize = 10_000_000;
