//! Reduction: blocks whose accesses can all be moved to one moment.
//!
//! Lipton's reduction (CACM 1975), as dynamic atomicity checkers use it (Flanagan and Freund,
//! POPL 2004). An access of a block is *guarded* against a conflicting access of another thread if
//! both are inside sections of a common lock. The block is *reducible* if it has a moment that all
//! the sections which guard its accesses contain, and if
//!
//! - at most one of its accesses has a conflict that is not guarded, and that access is the moment,
//! - apart from conflicts with transactions that must-happen-before puts before the whole block, or
//!   after it.
//!
//! Take an access `a` of a reducible block A and a conflicting access `c` after it. If they are
//! guarded, A's moment comes before the release of A's section, which comes before the acquire of
//! the other one and so before `c` and before the moment of its block. If they are not, they are
//! the moments themselves, or must-happen-before orders all of both. So along conflicts and along
//! program order the moments only go forward: a path of conflicts that leaves A never comes back
//! to it, and a cycle of transactions has a block on it that is not reducible. A block that an
//! interleaving runs only in part and that did not get to its moment has all the sections that
//! guard it still open, and its moment is the end.
//!
//! Two transactions have to be guarded by the same lock. Where several are common to two kinds of
//! accesses, the one that most accesses of the variable have is taken.

use foretell_trace::{EventId, LockId, Op, ThreadId, VarId, visible_variables};
use rustc_hash::FxHashMap;

use crate::transactions::Span;
use crate::{BlockId, TraceModel};

/// Locks that are held, with whether it is the reader side. Sorted.
type Locks = Vec<(LockId, bool)>;

/// Kinds of accesses of one variable that are distinguished at most. Where there are more, no block
/// that uses the variable is called reducible.
const MOST_KINDS: usize = 64;

/// Accesses of a variable that agree in whether they write and in the locks held.
#[derive(Debug)]
struct Kind {
    writes: bool,
    locks: Locks,
    /// In order, by thread.
    accesses: Vec<(ThreadId, Vec<EventId>)>,
    /// The other kinds that conflict, with the lock that guards against them.
    conflicts: Vec<(u32, Option<LockId>)>,
}

/// Number of a kind; those of a variable follow each other.
type KindId = u32;

const NONE: KindId = KindId::MAX;

/// The kinds of accesses of all variables that several threads use.
#[derive(Debug)]
pub(crate) struct Kinds {
    kinds: Vec<Kind>,
    /// By event; `NONE` where an event is no access, or one of a variable with a single thread.
    of_event: Vec<KindId>,
    /// Whether the variable of a kind has too many kinds.
    excessive: Vec<bool>,
}

/// Requirements of the accesses of a block that are of one kind.
struct Demand {
    /// Whether some conflict is neither guarded nor ordered with the whole block.
    open: bool,
    /// The locks that guard.
    guards: Vec<LockId>,
}

impl Kinds {
    fn new(trace_model: &TraceModel<'_>) -> Self {
        let trace = trace_model.trace;
        let mut all =
            Kinds { kinds: Vec::new(), of_event: vec![NONE; trace.len()], excessive: Vec::new() };
        for x in (0..trace.variable_count()).map(VarId::from_index) {
            foretell_limit::check();
            let reads_from = &trace_model.reads_from;
            let shared = reads_from.accesses_by_thread(x).len() > 1;
            if shared && !reads_from.writes(x).is_empty() && !trace.is_opaque(x) {
                all.add_variable(trace_model, x);
            }
        }
        all
    }

    fn add_variable(&mut self, trace_model: &TraceModel<'_>, x: VarId) {
        let TraceModel { trace, locks, reads_from, .. } = trace_model;
        let start = self.kinds.len();
        let mut index: FxHashMap<(bool, Locks), KindId> = FxHashMap::default();
        for (thread, accesses) in reads_from.accesses_by_thread(x) {
            // The locks held stay the same until the thread takes or frees one.
            let mut last: [Option<(u32, KindId)>; 2] = [None; 2];
            for &e in accesses {
                foretell_limit::check();
                let (writes, held) = (trace.op(e).writes(), locks.held_set_index(e));
                let kind = match last[usize::from(writes)] {
                    Some((set, kind)) if set == held => kind,
                    _ => {
                        let mut set: Locks = locks
                            .held_before(e)
                            .iter()
                            .map(|&s| (locks.get(s).lock, locks.get(s).shared))
                            .collect();
                        set.sort_unstable();
                        *index.entry((writes, set.clone())).or_insert_with(|| {
                            let conflicts = Vec::new();
                            self.kinds.push(Kind {
                                writes,
                                locks: set,
                                accesses: Vec::new(),
                                conflicts,
                            });
                            self.kinds.len() as KindId - 1
                        })
                    }
                };
                last[usize::from(writes)] = Some((held, kind));
                self.of_event[e.index()] = kind;
                let lists = &mut self.kinds[kind as usize].accesses;
                match lists.last_mut() {
                    Some((t, list)) if t == thread => list.push(e),
                    _ => lists.push((*thread, vec![e])),
                }
            }
        }
        let excessive = self.kinds.len() - start > MOST_KINDS;
        self.excessive.resize(self.kinds.len(), excessive);
        if !excessive {
            self.find_guards(start);
        }
    }

    /// Finds the conflicts of the kinds of a variable, which are all from number `start` on.
    fn find_guards(&mut self, start: usize) {
        let mut counts: FxHashMap<LockId, usize> = FxHashMap::default();
        for kind in &self.kinds[start..] {
            let accesses: usize = kind.accesses.iter().map(|(_, list)| list.len()).sum();
            for &(lock, _) in &kind.locks {
                *counts.entry(lock).or_default() += accesses;
            }
        }
        for i in start..self.kinds.len() {
            for j in start..self.kinds.len() {
                foretell_limit::check();
                let (one, other) = (&self.kinds[i], &self.kinds[j]);
                if !one.writes && !other.writes {
                    continue;
                }
                let guards = |&&(lock, shared): &&(LockId, bool)| {
                    other.locks.iter().any(|&(l, s)| l == lock && !(s && shared))
                };
                let common = one.locks.iter().filter(guards).map(|&(lock, _)| lock);
                let guard = common.max_by_key(|lock| (counts[lock], lock.0));
                self.kinds[i].conflicts.push((j as KindId, guard));
            }
        }
    }

    /// Whether the block of these accesses is reducible. `span` is the transaction of an access of
    /// another thread.
    fn are_reducible(
        &self,
        trace_model: &TraceModel<'_>,
        accesses: &[EventId],
        span: &impl Fn(EventId) -> Span,
    ) -> bool {
        let (Some(&first), Some(&last)) = (accesses.first(), accesses.last()) else { return true };
        let own = Span { first, last };
        let locks = &trace_model.locks;
        let mut demands: FxHashMap<KindId, Demand> = FxHashMap::default();
        let mut moment = None;
        // The moment is after the first of these and before the second.
        let (mut entered, mut left) = (None, EventId(u32::MAX));
        for &a in accesses {
            foretell_limit::check();
            // A `free` has a kind for each of its variables.
            if trace_model.trace.op(a) == Op::Free {
                return false;
            }
            let kind = self.of_event[a.index()];
            if kind == NONE {
                continue;
            }
            if self.excessive[kind as usize] {
                return false;
            }
            let demand =
                demands.entry(kind).or_insert_with(|| self.demand(trace_model, own, kind, span));
            if demand.open && moment.replace(a).is_some() {
                return false;
            }
            for &lock in &demand.guards {
                let mut held = locks.held_before(a).iter().map(|&s| locks.get(s));
                let Some(section) = held.find(|s| s.lock == lock) else { return false };
                entered = entered.max(Some(section.enter));
                left = section.exit.map_or(left, |exit| left.min(exit));
            }
        }
        entered.is_none_or(|e| e < left) && moment.is_none_or(|m| entered < Some(m) && m < left)
    }

    fn demand(
        &self,
        trace_model: &TraceModel<'_>,
        own: Span,
        kind: KindId,
        span: &impl Fn(EventId) -> Span,
    ) -> Demand {
        let thread = trace_model.trace.thread(own.first);
        let mut demand = Demand { open: false, guards: Vec::new() };
        for &(other, guard) in &self.kinds[kind as usize].conflicts {
            let lists = &self.kinds[other as usize].accesses;
            let mut lists = lists.iter().filter(|(t, _)| *t != thread);
            match guard {
                Some(lock) if demand.guards.contains(&lock) => {}
                Some(lock) => {
                    if lists.next().is_some() {
                        demand.guards.push(lock);
                    }
                }
                None => {
                    demand.open |= lists.any(|(t, list)| {
                        foretell_limit::check();
                        has_unordered(trace_model, own, *t, list, span)
                    });
                }
            }
        }
        demand
    }
}

/// Whether the transaction of one of these accesses of a thread can overlap with a block, as far as
/// must-happen-before tells.
fn has_unordered(
    trace_model: &TraceModel<'_>,
    own: Span,
    thread: ThreadId,
    list: &[EventId],
    span: &impl Fn(EventId) -> Span,
) -> bool {
    let TraceModel { trace, chains, must_happen_before, .. } = trace_model;
    let needed = must_happen_before.needs(chains, trace, own.first, thread);
    let before = list.partition_point(|&u| chains.position(span(u).last) < needed);
    let after = must_happen_before.first_after(chains, trace, own.last, thread);
    list.get(before)
        .is_some_and(|&u| after.is_none_or(|after| chains.position(span(u).first) < after))
}

impl TraceModel<'_> {
    /// Whether a block is serializable in every feasible interleaving, because it can be reduced to
    /// one moment.
    pub fn is_reducible(&self, block: BlockId) -> bool {
        let kinds = self.kinds.get_or_init(|| Kinds::new(self));
        kinds.are_reducible(self, &self.visible_accesses(block), &|u| Span { first: u, last: u })
    }

    /// The outermost blocks that are not reducible to one moment among the transactions, ascending.
    /// Every cycle of transactions goes through one of them.
    pub fn irreducible_transactions(&self) -> &[BlockId] {
        self.irreducible.get_or_init(|| {
            let kinds = self.kinds.get_or_init(|| Kinds::new(self));
            let spans = self.block_spans();
            let span = |u: EventId| {
                let block = self.blocks.outermost(u).and_then(|b| spans[b.0 as usize]);
                block.unwrap_or(Span { first: u, last: u })
            };
            let outermost = self.blocks.iter().filter(|(id, block)| block.outermost == *id);
            let irreducible = outermost.map(|(id, _)| id).filter(|&id| {
                foretell_limit::check();
                !kinds.are_reducible(self, &self.visible_accesses(id), &span)
            });
            irreducible.collect()
        })
    }

    /// The accesses of a block that can take part in a finding.
    fn visible_accesses(&self, block: BlockId) -> Vec<EventId> {
        let events = self.blocks.events(&self.chains, block).iter().copied();
        events.filter(|&e| visible_variables(self.trace, e).next().is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use foretell_trace::Model;

    use crate::TraceModel;
    use crate::testing::trace;

    /// Whether each block is reducible, and whether each outermost one is among the transactions.
    fn reducible(text: &str) -> (Vec<bool>, Vec<bool>) {
        let trace = trace(text);
        let model = TraceModel::new(&trace, Model::View);
        let alone = model.blocks.iter().map(|(b, _)| model.is_reducible(b)).collect();
        let irreducible = model.irreducible_transactions();
        let outermost = model.blocks.iter().filter(|(b, block)| block.outermost == *b);
        (alone, outermost.map(|(b, _)| !irreducible.contains(&b)).collect())
    }

    fn both(text: &str, expected: &[bool]) {
        assert_eq!(reducible(text), (expected.to_vec(), expected.to_vec()), "{text}");
    }

    const UPDATE: &str = "A|begin\nA|acq(l)\nA|r(x)\nA|w(x)\nA|rel(l)\nA|end\n";

    #[test]
    fn one_section_is_reducible_beside_a_racy_read() {
        let b = UPDATE.replace('A', "B");
        both(&format!("{UPDATE}{b}"), &[true, true]);
        both(&format!("{UPDATE}C|r(x)\n{b}"), &[true, true]);
        both(&format!("{UPDATE}C|w(x)\n{b}"), &[false, false]);
    }

    #[test]
    fn two_sections_have_no_common_moment() {
        let split = "A|begin\nA|acq(l)\nA|r(x)\nA|rel(l)\nA|acq(l)\nA|w(x)\nA|rel(l)\nA|end\n";
        both(&format!("{split}{}", UPDATE.replace('A', "B")), &[false, true]);
        // Nested sections of two locks have one: while both are held.
        let nested =
            "A|begin\nA|acq(l)\nA|r(x)\nA|acq(m)\nA|w(y)\nA|rel(l)\nA|r(y)\nA|rel(m)\nA|end\n";
        let other = "B|acq(l)\nB|w(x)\nB|rel(l)\nB|acq(m)\nB|w(y)\nB|rel(m)\n";
        both(&format!("{nested}{other}"), &[true]);
    }

    #[test]
    fn the_unguarded_access_must_be_at_the_moment() {
        let other = "B|acq(l)\nB|w(x)\nB|rel(l)\nB|w(y)\n";
        both(&format!("A|begin\nA|w(y)\nA|acq(l)\nA|w(x)\nA|rel(l)\nA|end\n{other}"), &[false]);
        both(&format!("A|begin\nA|acq(l)\nA|w(x)\nA|w(y)\nA|rel(l)\nA|end\n{other}"), &[true]);
        both(&format!("A|begin\nA|acq(l)\nA|w(x)\nA|rel(l)\nA|w(y)\nA|end\n{other}"), &[false]);
    }

    #[test]
    fn the_lock_of_two_transactions_is_the_same() {
        // Accesses of x are under both locks. Each block has one of them all the time.
        let a = "A|begin\nA|acq(l)\nA|acq(m)\nA|w(x)\nA|rel(m)\nA|w(y)\nA|acq(m)\nA|rel(m)\nA|rel(l)\nA|end\n";
        let b = "B|begin\nB|acq(m)\nB|acq(l)\nB|w(x)\nB|rel(l)\nB|w(z)\nB|rel(m)\nB|end\n";
        let c = "C|r(z)\nC|w(y)\n";
        let (alone, together) = reducible(&format!("{a}{b}{c}"));
        assert_eq!(together.iter().filter(|&&r| r).count(), 1, "{alone:?}");
    }

    #[test]
    fn order_counts_for_the_whole_transaction() {
        let block = "A|begin\nA|r(x)\nA|w(x)\nA|end\n";
        both(&format!("M|w(x)\nM|fork(A)\n{block}M|join(A)\nM|r(x)\n"), &[true]);
        both(&format!("M|fork(A)\nM|w(x)\n{block}M|join(A)\nM|r(x)\n"), &[false]);
        // M's block goes on while A runs: its write of x comes before A, and it is not over.
        let around = format!("M|begin\nM|w(x)\nM|fork(A)\nM|r(y)\nM|end\n{block}B|w(y)\n");
        let (alone, together) = reducible(&around);
        assert_eq!((alone[1], together[1]), (true, false));
    }

    #[test]
    fn readers_guard_against_writers_only() {
        let read = "A|begin\nA|racq(l)\nA|r(x)\nA|r(x)\nA|rrel(l)\nA|end\n";
        let write = "B|begin\nB|acq(l)\nB|w(x)\nB|w(x)\nB|rel(l)\nB|end\n";
        both(&format!("{read}{write}"), &[true, true]);
        let wrong = "B|begin\nB|racq(l)\nB|w(x)\nB|w(x)\nB|rrel(l)\nB|end\n";
        both(&format!("{read}{wrong}"), &[false, false]);
    }
}
