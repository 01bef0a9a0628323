//! All clauses in one array of words.
//!
//! A clause is two words of header and its literals. A `Cref` is the index of its first word.
//! Clauses do not move except in `Core::collect_garbage`.

use crate::lit::Lit;

/// Where a clause stands in the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cref(pub(crate) u32);

/// Why a clause is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClauseKind {
    /// Given by the client: forever.
    Given = 0,
    /// Learnt: as long as it seems useful.
    Learnt = 1,
    /// The explanation of a literal the theory implied: as long as it is the reason of that
    /// literal. Not watched.
    Explanation = 2,
}

const HEADER: usize = 2;
// Second word: kind in bits 0–1, recently used in bits 2–3, LBD above.
const USED_SHIFT: u32 = 2;
const LBD_SHIFT: u32 = 4;

#[derive(Default)]
pub(crate) struct Clauses {
    words: Vec<u32>,
}

impl Clauses {
    pub(crate) fn push(&mut self, lits: &[Lit], kind: ClauseKind, lbd: u32) -> Cref {
        let at = Cref(self.words.len() as u32);
        self.words.push(lits.len() as u32);
        self.words.push(kind as u32 | lbd << LBD_SHIFT);
        self.words.extend(lits.iter().map(|lit| lit.code()));
        at
    }

    pub(crate) fn len(&self, at: Cref) -> usize {
        self.words[at.0 as usize] as usize
    }

    pub(crate) fn lit(&self, at: Cref, k: usize) -> Lit {
        Lit::from_code(self.words[at.0 as usize + HEADER + k])
    }

    /// The literals, as the words they are stored in.
    pub(crate) fn codes_mut(&mut self, at: Cref) -> &mut [u32] {
        let at = at.0 as usize;
        let len = self.words[at] as usize;
        &mut self.words[at + HEADER..at + HEADER + len]
    }

    pub(crate) fn lits(&self, at: Cref) -> impl Iterator<Item = Lit> + '_ {
        let at = at.0 as usize;
        let len = self.words[at] as usize;
        self.words[at + HEADER..at + HEADER + len].iter().map(|&code| Lit::from_code(code))
    }

    pub(crate) fn is_learnt(&self, at: Cref) -> bool {
        self.words[at.0 as usize + 1] & 3 == ClauseKind::Learnt as u32
    }

    /// The number of decision levels in the clause when it was learnt.
    pub(crate) fn lbd(&self, at: Cref) -> u32 {
        self.words[at.0 as usize + 1] >> LBD_SHIFT
    }

    /// Number of reductions that the clause is protected from, because it took part in a conflict.
    pub(crate) fn used(&self, at: Cref) -> u32 {
        self.words[at.0 as usize + 1] >> USED_SHIFT & 3
    }

    pub(crate) fn set_used(&mut self, at: Cref, used: u32) {
        let word = &mut self.words[at.0 as usize + 1];
        *word = *word & !(3 << USED_SHIFT) | used << USED_SHIFT;
    }

    /// Copies a clause, header and all, to the end of `to`.
    pub(crate) fn copy_to(&self, at: Cref, to: &mut Clauses) -> Cref {
        let new = Cref(to.words.len() as u32);
        let start = at.0 as usize;
        to.words.extend_from_slice(&self.words[start..start + HEADER + self.len(at)]);
        new
    }
}
