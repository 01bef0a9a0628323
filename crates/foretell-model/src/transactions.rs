//! Transactions that never overlap.
//!
//! The outermost blocks and the accesses outside of them are transactions. Two of them that
//! conflict are *serial* if in every feasible interleaving all accesses of one come before all
//! accesses of the other:
//!
//! - both are single accesses;
//! - each is inside one critical section of a common lock, not both as readers;
//! - must-happen-before orders the last access of one before the first one of the other.
//!
//! A step of a transaction cycle, along a conflict or along program order, then leads from a
//! transaction to one whose accesses all come later. So if all conflicts are between serial
//! transactions there is no cycle: the linear filter for programs that lock all of a block's data,
//! as two-phase locking does for databases (Eswaran, Gray, Lorie and Traiger, CACM 1976).

use foretell_trace::{EventId, LockId, ThreadId, VarId, is_visible_access};
use rustc_hash::FxHashMap;

use crate::{SectionId, TraceModel};

/// Pairs of transactions that are compared at most; with more of them left the answer is "no".
const MOST_PAIRS: usize = 2_000_000;

/// Accesses of a transaction, from the first to the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) first: EventId,
    pub(crate) last: EventId,
}

/// A transaction that accesses some variable.
struct User {
    thread: ThreadId,
    span: Span,
    writes: bool,
}

impl TraceModel<'_> {
    /// Whether all transactions that conflict are serial, as far as locks and must-happen-before
    /// tell. Then no block is on a transaction cycle.
    pub fn has_serial_transactions(&self) -> bool {
        *self.serial_transactions.get_or_init(|| self.find_serial_transactions())
    }

    fn find_serial_transactions(&self) -> bool {
        let spans = self.block_spans();
        let mut left = MOST_PAIRS;
        (0..self.trace.variable_count()).map(VarId::from_index).all(|x| {
            let by_thread = self.reads_from.accesses_by_thread(x);
            let shared = by_thread.len() > 1 && !self.reads_from.writes(x).is_empty();
            !shared || self.trace.is_opaque(x) || {
                let users = by_thread.iter().flat_map(|(t, list)| self.users(&spans, *t, list));
                self.are_serial(&users.collect::<Vec<_>>(), &mut left)
            }
        })
    }

    /// The accesses of each outermost block, by its number; `None` for the others.
    pub(crate) fn block_spans(&self) -> Vec<Option<Span>> {
        let mut spans: Vec<Option<Span>> = vec![None; self.blocks.len()];
        for e in self.trace.ids() {
            foretell_limit::check();
            let Some(block) = self.blocks.outermost(e) else { continue };
            if is_visible_access(self.trace, e) {
                let span = &mut spans[block.0 as usize];
                *span = Some(Span { first: span.map_or(e, |s| s.first), last: e });
            }
        }
        spans
    }

    /// The transactions of one thread that make these accesses to a variable.
    fn users(&self, spans: &[Option<Span>], thread: ThreadId, accesses: &[EventId]) -> Vec<User> {
        let mut users: Vec<User> = Vec::new();
        for &e in accesses {
            foretell_limit::check();
            let block = self.blocks.outermost(e).and_then(|b| spans[b.0 as usize]);
            let span = block.unwrap_or(Span { first: e, last: e });
            let writes = self.trace.op(e).writes();
            match users.last_mut() {
                Some(user) if user.span == span => user.writes |= writes,
                _ => users.push(User { thread, span, writes }),
            }
        }
        users
    }

    /// Sections that contain all accesses of a transaction.
    fn around(&self, span: Span) -> impl Iterator<Item = SectionId> + '_ {
        let at_end = self.locks.held_before(span.last);
        self.locks.held_before(span.first).iter().copied().filter(|s| at_end.contains(s))
    }

    /// Whether the users of a variable that conflict are serial. Most hold the lock that most of
    /// them hold; only the others are compared with each one.
    fn are_serial(&self, users: &[User], left: &mut usize) -> bool {
        let mut counts: FxHashMap<LockId, usize> = FxHashMap::default();
        for user in users {
            foretell_limit::check();
            for s in self.around(user.span) {
                *counts.entry(self.locks.get(s).lock).or_default() += 1;
            }
        }
        let common = counts.into_iter().max_by_key(|&(lock, count)| (count, lock));
        let holds = |user: &User| {
            common.is_some_and(|(lock, _)| {
                let guards = |s| {
                    let section = self.locks.get(s);
                    section.lock == lock && !(section.shared && user.writes)
                };
                self.around(user.span).any(guards)
            })
        };
        users.iter().filter(|user| !holds(user)).all(|user| {
            users.iter().all(|other| {
                foretell_limit::check();
                if *left == 0 {
                    return false;
                }
                *left -= 1;
                let conflict = user.thread != other.thread && (user.writes || other.writes);
                !conflict || self.is_serial(user.span, other.span)
            })
        })
    }

    fn is_serial(&self, a: Span, b: Span) -> bool {
        let before = |x: Span, y: Span| {
            self.must_happen_before.ordered_before(&self.chains, self.trace, x.last, y.first)
        };
        let excluded = || {
            self.around(a).any(|s| {
                let s = self.locks.get(s);
                self.around(b)
                    .map(|t| self.locks.get(t))
                    .any(|t| s.lock == t.lock && !(s.shared && t.shared))
            })
        };
        let single = |x: Span| x.first == x.last;
        single(a) && single(b) || before(a, b) || before(b, a) || excluded()
    }
}

#[cfg(test)]
mod tests {
    use foretell_trace::Model;

    use crate::TraceModel;
    use crate::testing::trace;

    fn serial(text: &str) -> bool {
        TraceModel::new(&trace(text), Model::View).has_serial_transactions()
    }

    #[test]
    fn blocks_in_sections_of_one_lock_are_serial() {
        let a = "A|begin\nA|acq(l)\nA|r(x)\nA|w(x)\nA|rel(l)\nA|end\n";
        assert!(serial(&format!("{a}{}", a.replace('A', "B"))));
        assert!(!serial(&format!("{a}{}", a.replace('A', "B").replace("(l)", "(m)"))));
    }

    #[test]
    fn a_block_of_two_sections_is_not_serial() {
        let a = "A|begin\nA|acq(l)\nA|r(x)\nA|rel(l)\nA|acq(l)\nA|w(x)\nA|rel(l)\nA|end\n";
        assert!(!serial(&format!("{a}{}", a.replace('A', "B"))));
    }

    #[test]
    fn an_access_outside_of_the_section_opens_the_block() {
        let a = "A|begin\nA|acq(l)\nA|r(x)\nA|w(x)\nA|rel(l)\nA|w(y)\nA|end\n";
        assert!(!serial(&format!("{a}{}", a.replace('A', "B"))));
    }

    #[test]
    fn readers_exclude_writers_only() {
        let block = |t: &str, inner: &str| {
            format!("{t}|begin\n{inner}{t}|end\n").replace("T|", &format!("{t}|"))
        };
        let reader = |t| block(t, "T|racq(l)\nT|r(x)\nT|r(x)\nT|rrel(l)\n");
        let writer = block("C", "T|acq(l)\nT|w(x)\nT|w(x)\nT|rel(l)\n");
        assert!(serial(&format!("{}{}{writer}", reader("A"), reader("B"))));
        let wrong = block("C", "T|racq(l)\nT|w(x)\nT|w(x)\nT|rrel(l)\n");
        assert!(!serial(&format!("{}{}{wrong}", reader("A"), reader("B"))));
    }

    #[test]
    fn fork_and_join_order_what_no_lock_guards() {
        let block = "A|begin\nA|r(x)\nA|w(x)\nA|end\n";
        assert!(serial(&format!("M|w(x)\nM|fork(A)\n{block}M|join(A)\nM|r(x)\n")));
        assert!(!serial(&format!("M|fork(A)\nM|w(x)\n{block}M|join(A)\nM|r(x)\n")));
    }

    #[test]
    fn single_accesses_are_serial() {
        assert!(serial("A|w(x)\nB|w(x)\nA|w(y)\nB|r(y)\n"));
    }
}
