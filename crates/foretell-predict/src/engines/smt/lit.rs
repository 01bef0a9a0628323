//! Literals of a formula, before they become text.

use foretell_trace::EventId;

/// An atom or its negation, before the bounds have been applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lit {
    True,
    False,
    /// The event is in the interleaving.
    Ran(EventId),
    NotRan(EventId),
    /// The view of the event is relied on.
    Kept(EventId),
    NotKept(EventId),
    /// The first event comes before the second, if the second is in the interleaving at all.
    Less(EventId, EventId),
    Var(u32),
    NotVar(u32),
    /// The rank of the first variable is smaller.
    RankLess(u32, u32),
}

impl Lit {
    pub(super) fn not(self) -> Lit {
        match self {
            Lit::True => Lit::False,
            Lit::False => Lit::True,
            Lit::Ran(e) => Lit::NotRan(e),
            Lit::NotRan(e) => Lit::Ran(e),
            Lit::Kept(e) => Lit::NotKept(e),
            Lit::NotKept(e) => Lit::Kept(e),
            Lit::Var(v) => Lit::NotVar(v),
            Lit::NotVar(v) => Lit::Var(v),
            Lit::Less(..) | Lit::RankLess(..) => {
                unreachable!("order atoms are on the right of implications only")
            }
        }
    }
}
