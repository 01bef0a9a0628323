//! The encoding of feasibility (semantics sections 1 and 2) as clauses over a strict order: the one
//! place where it is, for every analysis.
//!
//! Nodes are events; each thread is a chain. One more node, `END`, stands where the interleaving
//! stops: an event has run iff it comes before `END`. Chains make that a prefix of every thread,
//! and a write that has not run comes after every read that has, so the constraints
//! need no case for skipped events. What comes after `END` is unconstrained.
//!
//! Nothing is written down in advance but forks and joins (of threads that are not cut). The engine
//! proposes a sequence, the simulator names the rules it breaks, and [`Encoding::learn`] adds the
//! clauses for those. All clauses are true of every feasible interleaving whatever the query asks,
//! so they stay for the next query; what belongs to one query are assumptions, or clauses behind a
//! switch.
//!
//! - *Kept* reads: `kept(r)` holds when the view of `r` is relied on: its thread goes on, or
//!   an update's value is seen. It implies that `r` sees one of the writes that preserve it.
//! - `sees(r, w)` implies `w < r` and, for every other write `v`, `v < w` or `r < v`. The latter
//!   only for writes that were caught in between. With one possible writer, `kept(r)` is
//!   `sees(r, w)`.
//! - A use of hidden state comes after the write before it in the trace, unconditionally: it does
//!   not run without it ([`TraceModel::is_relied_on`]), and what has not run can come in any order.
//! - Two sections of a lock: one of them has not been entered, or one is left before the other is
//!   entered.
//! - `wakes(n, w)`: notify `n` picks the waiter of wait `w`. A waiter that was woken was picked, or
//!   saw a notify-all. No waiter is picked twice, no notify picks twice. Where waits time out,
//!   every notify must pick a waiter, if there is one.
//! - Semaphores and barriers: counting arguments, see [`Encoding::learn`].

mod conditions;
mod reads;

use std::collections::BTreeMap;
use std::sync::Arc;

use foretell_model::{SectionId, TraceModel, WaitId};
use foretell_order::{Chain, Lit, Node, Solver};
use foretell_trace::{CondId, EventId, Model, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::simulate::{Demands, Violation};
use super::symbolic::symbols::Symbols;
use super::too_large::TooLarge;
use crate::simplify::Symbolic;

/// Stands for the end of the interleaving where an event is expected.
pub(crate) const END: EventId = EventId(u32::MAX);

pub(crate) struct Encoding<'s> {
    pub(crate) trace_model: &'s TraceModel<'s>,
    pub(crate) solver: Solver,
    chains: Vec<Chain>,
    end: Node,
    nodes: FxHashMap<EventId, Node>,
    /// The literal `x < y` for events of different threads, `x` the smaller identifier.
    atoms: FxHashMap<(EventId, EventId), Lit>,
    /// The atoms in the order of creation, to read a model off.
    atom_list: Vec<(EventId, EventId, Lit)>,
    kept: FxHashMap<EventId, Lit>,
    /// For each read whose constraint is written down: each writer it may see, and the literal
    /// that says it does.
    sees: FxHashMap<EventId, Vec<(Option<EventId>, Lit)>>,
    /// `sees` for writers that break the read, made on demand.
    challenges: FxHashMap<EventId, Vec<(Option<EventId>, Lit)>>,
    section_pairs: FxHashSet<(SectionId, SectionId)>,
    /// Accesses of opaque variables that are known to keep their order.
    opaque_pairs: FxHashSet<(EventId, EventId)>,
    wakes: FxHashMap<(EventId, WaitId), Lit>,
    wakes_by_notify: FxHashMap<EventId, Vec<WaitId>>,
    wakes_by_wait: FxHashMap<WaitId, Vec<EventId>>,
    woken_written: FxHashSet<EventId>,
    timed_written: FxHashSet<CondId>,
    /// The literals that say that a read sees a writer, and the other writers that are known not to
    /// be between them.
    between: FxHashSet<(Lit, EventId)>,
    /// By failed try-lock: the sections it may be in.
    owners: BTreeMap<EventId, Owners>,
    /// Number of rules that are encoded.
    learnt: u64,
    /// The values of the symbolic model.
    pub(super) symbols: Symbols,
}

/// The owners that a failed try-lock may run into.
struct Owners {
    /// Those that no clause speaks of, the nearest first.
    rest: Vec<SectionId>,
    /// If this holds, it is one of them. (At first: the try-lock is relied on.)
    otherwise: Lit,
    /// Number of them that have clauses.
    known: usize,
}

/// Number of owners of a failed try-lock that are encoded at first, and at a time.
const FIRST_OWNERS: usize = 4;
const MOST_OWNERS: usize = 16;

impl<'s> Encoding<'s> {
    /// Nothing but forks and joins; `values` are those of the symbolic model.
    pub(crate) fn new(trace_model: &'s TraceModel<'s>, values: Option<Arc<Symbolic>>) -> Self {
        let mut solver = Solver::new();
        let chains = (0..trace_model.chains.thread_count()).map(|_| solver.add_chain()).collect();
        let end_chain = solver.add_chain();
        // Priority 0: as long as nothing asks for an event, it comes after the end.
        let end = solver.node(end_chain, 0, 0);
        let mut this = Self {
            trace_model,
            solver,
            chains,
            end,
            nodes: FxHashMap::default(),
            atoms: FxHashMap::default(),
            atom_list: Vec::new(),
            kept: FxHashMap::default(),
            sees: FxHashMap::default(),
            challenges: FxHashMap::default(),
            section_pairs: FxHashSet::default(),
            opaque_pairs: FxHashSet::default(),
            wakes: FxHashMap::default(),
            wakes_by_notify: FxHashMap::default(),
            wakes_by_wait: FxHashMap::default(),
            woken_written: FxHashSet::default(),
            timed_written: FxHashSet::default(),
            between: FxHashSet::default(),
            owners: BTreeMap::new(),
            learnt: 0,
            symbols: Symbols::new(values),
        };
        this.forks_and_joins();
        this
    }

    /// A thread's first event comes after its fork and its last one before its joins.
    fn forks_and_joins(&mut self) {
        let trace_model = self.trace_model;
        for t in 0..trace_model.chains.thread_count() {
            foretell_limit::check();
            let t = foretell_trace::ThreadId::from_index(t);
            let events = trace_model.chains.events(t);
            let fork = trace_model.chains.fork(t).filter(|_| !mutated!(ForksInAnyOrder));
            if let (Some(fork), Some(&first)) = (fork, events.first()) {
                let lit = self.less(fork, first);
                self.solver.add_clause(&[lit]);
            }
            // A thread without events is joined after its fork.
            let Some(last) = events.last().copied().or(fork) else { continue };
            for &join in trace_model.chains.joins(t) {
                foretell_limit::check();
                if mutated!(JoinsInAnyOrder) {
                    continue;
                }
                let lit = self.less(last, join);
                self.solver.add_clause(&[lit]);
                if trace_model.trace.op(last).observes() && !mutated!(BrokenThreadsAreJoined) {
                    let (joined, kept) = (self.ran(join), self.kept(last));
                    self.solver.add_clause(&[!joined, kept]);
                }
            }
        }
    }

    fn node(&mut self, e: EventId) -> Node {
        if e == END {
            return self.end;
        }
        if let Some(&node) = self.nodes.get(&e) {
            return node;
        }
        let trace_model = self.trace_model;
        let chain = self.chains[trace_model.trace.thread(e).index()];
        let node = self.solver.node(chain, trace_model.chains.position(e), u64::from(e.0) + 1);
        self.nodes.insert(e, node);
        // The model must say of every node whether it runs.
        let ran = self.solver.less(node, self.end);
        self.atoms.insert((e, END), ran);
        self.atom_list.push((e, END, ran));
        node
    }

    /// The literal `x < y`.
    pub(crate) fn less(&mut self, x: EventId, y: EventId) -> Lit {
        if x == y {
            return !self.solver.true_lit();
        }
        if x > y {
            return !self.less(y, x);
        }
        let trace = self.trace_model.trace;
        if y != END && trace.thread(x) == trace.thread(y) {
            let lit = self.solver.true_lit();
            let forward = self.trace_model.chains.position(x) < self.trace_model.chains.position(y);
            return if forward { lit } else { !lit };
        }
        if let Some(&lit) = self.atoms.get(&(x, y)) {
            return lit;
        }
        let (nx, ny) = (self.node(x), self.node(y));
        if y == END {
            return self.atoms[&(x, y)];
        }
        let lit = self.solver.less(nx, ny);
        self.atoms.insert((x, y), lit);
        self.atom_list.push((x, y, lit));
        lit
    }

    /// Returns the number of events that the encoding knows.
    pub(crate) fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Asks the solver to let events run only where something needs them. Without this, what ran
    /// for an earlier query is tried again first.
    pub(crate) fn prefer_little(&mut self) {
        for &(_, last, ran) in &self.atom_list {
            foretell_limit::check();
            if last == END {
                self.solver.set_phase(!ran);
            }
        }
    }

    /// The literal "`e` has run".
    pub(crate) fn ran(&mut self, e: EventId) -> Lit {
        self.less(e, END)
    }

    /// The literal "the view of `e` is relied on".
    pub(crate) fn kept(&mut self, e: EventId) -> Lit {
        if let Some(&lit) = self.kept.get(&e) {
            return lit;
        }
        let lit = self.solver.new_var();
        self.kept.insert(e, lit);
        let ran = self.ran(e);
        self.solver.add_clause(&[!lit, ran]);
        let next = self.trace_model.chains.next(self.trace_model.trace, e);
        if let Some(next) = next.filter(|_| !mutated!(NextKeepsNothing)) {
            let next = self.ran(next);
            self.solver.add_clause(&[!next, lit]);
        }
        lit
    }

    /// Adds clauses that rule out a broken rule, true of every feasible interleaving. Says whether
    /// anything was added that was not known.
    pub(crate) fn learn(&mut self, violation: &Violation) -> Result<bool, TooLarge> {
        let known = self.learnt;
        match violation {
            Violation::Read { read, seen } => self.read(*read, *seen),
            Violation::Lock { entering, held } => self.sections(*entering, *held),
            Violation::TryFailed(e) => self.try_failed(*e),
            Violation::Condition { cond, woken } => {
                self.learnt += 1;
                self.condition(*cond, woken)?;
            }
            Violation::Semaphore { down, downs, posts } => self.semaphore(*down, downs, posts),
            Violation::Barrier { leave, earlier, arrived } => {
                self.barrier(*leave, earlier, arrived);
            }
            Violation::Opaque { first, second } => self.opaque_order(*first, *second),
        }
        Ok(self.learnt > known)
    }

    /// Two accesses of an opaque variable, in the order of the trace, keep that order if both run.
    fn opaque_order(&mut self, first: EventId, second: EventId) {
        if !self.opaque_pairs.insert((first, second)) {
            return;
        }
        self.learnt += 1;
        let order = self.less(first, second);
        let (trace, reads_from) = (self.trace_model.trace, &self.trace_model.reads_from);
        if trace.variable(first).is_some_and(|x| reads_from.has_only_updates(x)) {
            // The second one does not run without the first.
            self.solver.add_clause(&[order]);
            return;
        }
        let (a, b) = (self.ran(first), self.ran(second));
        self.solver.add_clause(&[!a, !b, order]);
    }

    /// A use of hidden state saw `seen`, but must see the write before it in the trace.
    fn hidden_use(&mut self, e: EventId, seen: Option<EventId>) {
        if mutated!(HiddenStateMayBeSkipped) {
            return;
        }
        if let Some(w) = self.trace_model.reads_from.observed(e)
            && self.opaque_pairs.insert((w, e))
        {
            self.learnt += 1;
            let order = self.less(w, e);
            self.solver.add_clause(&[order]);
        }
        if let Some(later) = seen.filter(|&seen| seen > e) {
            self.opaque_order(e, later);
        }
    }

    fn sections(&mut self, a: SectionId, b: SectionId) {
        let (a, b) = (a.min(b), a.max(b));
        if !self.section_pairs.insert((a, b)) {
            return;
        }
        self.learnt += 1;
        let locks = &self.trace_model.locks;
        let (a, b) = (*locks.get(a), *locks.get(b));
        let mut clause = vec![!self.ran(a.enter), !self.ran(b.enter)];
        if let Some(exit) = a.exit {
            clause.push(self.less(exit, b.enter));
        }
        if let Some(exit) = b.exit.filter(|_| !mutated!(SectionsInOneOrder)) {
            clause.push(self.less(exit, a.enter));
        }
        self.solver.add_clause(&clause);
    }

    /// A try-lock that fails does so inside a section of another thread: the one it ran into, or
    /// one nearby, or one of the rest, which are written down when it comes to that.
    fn try_failed(&mut self, e: EventId) {
        let mut owners = match self.owners.remove(&e) {
            Some(owners) => owners,
            None => Owners { rest: self.possible_owners(e), otherwise: self.kept(e), known: 0 },
        };
        if owners.rest.is_empty() && owners.known > 0 {
            self.owners.insert(e, owners);
            return;
        }
        self.learnt += 1;
        let mut clause = vec![!owners.otherwise];
        let count = owners.rest.len().min(owners.known.clamp(FIRST_OWNERS, MOST_OWNERS));
        for section in owners.rest.drain(..count) {
            foretell_limit::check();
            let section = *self.trace_model.locks.get(section);
            let inside = self.solver.new_choice();
            let entered = self.less(section.enter, e);
            self.solver.add_clause(&[!inside, entered]);
            if let Some(exit) = section.exit.filter(|_| !mutated!(TryLocksFailAfterwards)) {
                let not_left = self.less(e, exit);
                self.solver.add_clause(&[!inside, not_left]);
            }
            // One reason to fail is enough.
            for &other in &clause[1..] {
                foretell_limit::check();
                self.solver.add_clause(&[!inside, !other]);
            }
            clause.push(inside);
        }
        if !owners.rest.is_empty() {
            owners.otherwise = self.solver.new_var();
            clause.push(owners.otherwise);
        }
        owners.known += count.max(1);
        self.owners.insert(e, owners);
        self.solver.add_clause(&clause);
    }

    /// The literals that say that every failed try-lock ran into an owner that is written down: to
    /// be assumed as long as that is possible.
    pub(crate) fn known_owners(&self) -> impl Iterator<Item = Lit> {
        let open = self.owners.values().filter(|owners| !owners.rest.is_empty());
        open.map(|owners| !owners.otherwise)
    }

    /// After a search that failed: writes down more owners if that could have been the reason. Says
    /// whether it was.
    pub(crate) fn more_owners(&mut self) -> bool {
        let core = self.solver.core().to_vec();
        let to_blame =
            |owners: &Owners| !owners.rest.is_empty() && core.contains(&!owners.otherwise);
        let tries = self.owners.iter().filter(|(_, owners)| to_blame(owners));
        let tries: Vec<EventId> = tries.map(|(&e, _)| e).collect();
        for &e in &tries {
            foretell_limit::check();
            self.try_failed(e);
        }
        !tries.is_empty()
    }

    /// The sections in which a failed try-lock can be, as far as must-happen-before tells, the
    /// nearest first.
    fn possible_owners(&self, e: EventId) -> Vec<SectionId> {
        let TraceModel { trace, chains, locks, must_happen_before, .. } = self.trace_model;
        let Some((lock, _)) = trace.event(e).kind.failed_try() else { return Vec::new() };
        let possible = |s: &SectionId| {
            let section = locks.get(*s);
            locks.makes_fail(trace, *s, e)
                && !must_happen_before.ordered_before(chains, trace, e, section.enter)
                && section
                    .exit
                    .is_none_or(|exit| !must_happen_before.ordered_before(chains, trace, exit, e))
        };
        let mut owners: Vec<SectionId> =
            locks.of_lock(lock).iter().copied().filter(possible).collect();
        owners.sort_by_key(|&s| {
            let section = locks.get(s);
            let after = section.exit.map_or(0, |exit| e.0.saturating_sub(exit.0));
            after.max(section.enter.0.saturating_sub(e.0))
        });
        owners
    }

    /// Among the downs listed, all but one token is used when they have all run: for one more,
    /// a post that is not listed must come before `down`.
    fn semaphore(&mut self, down: EventId, downs: &[EventId], posts: &[EventId]) {
        let foretell_trace::EventKind::Down { sem } = self.trace_model.trace.event(down).kind
        else {
            return;
        };
        self.learnt += 1;
        let mut clause = vec![!self.ran(down)];
        for &d in downs.iter().filter(|&&d| d != down) {
            foretell_limit::check();
            clause.push(self.less(down, d));
        }
        let listed: FxHashSet<_> = posts.iter().copied().collect();
        for &p in self.trace_model.counters.posts(sem) {
            foretell_limit::check();
            if !listed.contains(&p) && !mutated!(OtherPostsDoNotCount) {
                clause.push(self.less(p, down));
            }
        }
        self.solver.add_clause(&clause);
    }

    /// When all of `earlier` came before the thread's own arrival, its generation needs more
    /// arrivals than `arrived`.
    fn barrier(&mut self, leave: EventId, earlier: &[EventId], arrived: &[EventId]) {
        let foretell_trace::EventKind::Leave { barrier } = self.trace_model.trace.event(leave).kind
        else {
            return;
        };
        let Some(arrival) = self.trace_model.counters.arrival_of(leave) else { return };
        self.learnt += 1;
        let mut clause = vec![!self.ran(leave)];
        for &a in earlier {
            foretell_limit::check();
            clause.push(self.less(arrival, a));
        }
        let listed: FxHashSet<_> = arrived.iter().copied().collect();
        for &a in self.trace_model.counters.arrivals(barrier) {
            foretell_limit::check();
            if !listed.contains(&a) && !mutated!(OtherArrivalsDoNotCount) {
                clause.push(self.less(a, leave));
            }
        }
        self.solver.add_clause(&clause);
    }

    /// Reads the current model: the number of events of each thread that run (at least `at_least`),
    /// and in which order some of them do.
    pub(crate) fn model(&self, at_least: &[u32]) -> (Vec<u32>, Vec<(EventId, EventId)>) {
        let trace_model = self.trace_model;
        let trace = trace_model.trace;
        let mut counts = at_least.to_vec();
        let mut order = Vec::new();
        for &(x, y, lit) in &self.atom_list {
            foretell_limit::check();
            let (first, second) = if self.solver.value(lit) { (x, y) } else { (y, x) };
            if second == END {
                let count = &mut counts[trace.thread(first).index()];
                *count = (*count).max(trace_model.chains.position(first) + 1);
            } else if first != END {
                order.push((first, second));
            }
        }
        // Events after the end wait for nothing.
        order.retain(|&(_, second)| {
            trace_model.chains.position(second) < counts[trace.thread(second).index()]
        });
        (counts, order)
    }
}

impl Demands for Encoding<'_> {
    fn must_be_preserved(&self, e: EventId) -> bool {
        self.kept.get(&e).is_some_and(|&lit| self.solver.value(lit))
    }

    fn source(&self, read: EventId) -> Option<Option<EventId>> {
        if self.trace_model.model == Model::View {
            return None;
        }
        let sees = self.sees.get(&read)?;
        sees.iter().find(|(_, lit)| self.solver.value(*lit)).map(|(writer, _)| *writer)
    }

    fn readers(&self, x: VarId, writer: Option<EventId>) -> Vec<EventId> {
        if self.trace_model.model == Model::View {
            return Vec::new();
        }
        let trace = self.trace_model.trace;
        let reads = self.sees.keys().copied().filter(|&r| trace.variable(r) == Some(x));
        reads.filter(|&r| self.source(r) == Some(writer)).collect()
    }

    fn has_owner(&self, tried: EventId) -> bool {
        self.owners.contains_key(&tried)
    }
}
