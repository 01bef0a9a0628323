//! Which variable to decide next: the one that took part in conflicts most, lately (VSIDS of Chaff,
//! in the exponential form of MiniSat), and the value it had last (phase saving).
//!
//! Variables that never took part in a conflict are most of them here, and their order is as
//! important: the client gives each variable a rank, and they are decided by rank. They are kept
//! in a sorted list with a cursor, so that walking over those that are assigned already costs next
//! to nothing; only the others are in the heap.

use crate::lit::Var;

/// When a variable that never was in a conflict is decided: smallest first, then the oldest.
pub(crate) type Rank = (u64, u64);

const DECAY: f64 = 0.95;
const RESCALE_ABOVE: f64 = 1e100;
const ABSENT: u32 = u32::MAX;

pub(crate) struct Decide {
    /// A binary heap of the variables with some activity, and the place of each in it.
    heap: Vec<Var>,
    place: Vec<u32>,
    activity: Vec<f64>,
    increment: f64,
    ranks: Vec<Rank>,
    /// All variables by rank, except the last ones, and the index of each in this list.
    ranked: Vec<Var>,
    rank_index: Vec<u32>,
    /// Before this index all variables of the list are assigned or have some activity.
    cursor: usize,
}

impl Decide {
    pub(crate) fn new() -> Self {
        Decide {
            heap: Vec::new(),
            place: Vec::new(),
            activity: Vec::new(),
            increment: 1.0,
            ranks: Vec::new(),
            ranked: Vec::new(),
            rank_index: Vec::new(),
            cursor: 0,
        }
    }

    pub(crate) fn add_var(&mut self, rank: Rank) {
        self.place.push(ABSENT);
        self.activity.push(0.0);
        self.ranks.push(rank);
        self.rank_index.push(0);
    }

    /// Sorts in the variables that came since the last time.
    pub(crate) fn sort_new_vars(&mut self) {
        let old = self.ranked.len();
        if old == self.ranks.len() {
            return;
        }
        let ranks = &self.ranks;
        let rank = |var: &Var| ranks[var.index()];
        self.ranked.extend((old..ranks.len()).map(|v| Var(v as u32)));
        self.ranked[old..].sort_by_key(rank);
        // What comes before the first of the new ones stays where it is. From there on two sorted
        // runs are merged in linear time by the stable sort.
        let first = rank(&self.ranked[old]);
        let start = self.ranked[..old].partition_point(|var| rank(var) <= first);
        self.ranked[start..].sort_by_key(rank);
        for (k, var) in self.ranked.iter().enumerate().skip(start) {
            self.rank_index[var.index()] = k as u32;
        }
        self.cursor = self.cursor.min(start);
    }

    /// `var` is to be decided again.
    pub(crate) fn insert(&mut self, var: Var) {
        if self.activity[var.index()] == 0.0 {
            self.cursor = self.cursor.min(self.rank_index[var.index()] as usize);
        } else {
            self.insert_in_heap(var);
        }
    }

    fn insert_in_heap(&mut self, var: Var) {
        if self.place[var.index()] == ABSENT {
            self.place[var.index()] = self.heap.len() as u32;
            self.heap.push(var);
            self.up(self.heap.len() - 1);
        }
    }

    /// The best variable that is not assigned.
    pub(crate) fn next(&mut self, is_assigned: impl Fn(Var) -> bool) -> Option<Var> {
        while let Some(var) = self.pop() {
            if !is_assigned(var) {
                return Some(var);
            }
        }
        while let Some(&var) = self.ranked.get(self.cursor) {
            self.cursor += 1;
            if !is_assigned(var) {
                return Some(var);
            }
        }
        None
    }

    fn pop(&mut self) -> Option<Var> {
        let best = *self.heap.first()?;
        self.place[best.index()] = ABSENT;
        let last = self.heap.pop()?;
        if last != best {
            self.heap[0] = last;
            self.place[last.index()] = 0;
            self.down(0);
        }
        Some(best)
    }

    /// `var`, which is assigned, took part in a conflict.
    pub(crate) fn bump(&mut self, var: Var) {
        self.activity[var.index()] += self.increment;
        if self.activity[var.index()] > RESCALE_ABOVE {
            for activity in &mut self.activity {
                *activity /= RESCALE_ABOVE;
            }
            self.increment /= RESCALE_ABOVE;
        }
        if self.place[var.index()] != ABSENT {
            self.up(self.place[var.index()] as usize);
        }
    }

    /// A conflict is over: what was bumped before weighs less from now on.
    pub(crate) fn decay(&mut self) {
        self.increment /= DECAY;
    }

    fn better(&self, a: Var, b: Var) -> bool {
        let (x, y) = (self.activity[a.index()], self.activity[b.index()]);
        x > y || x == y && a < b
    }

    fn up(&mut self, mut at: usize) {
        let var = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.better(var, self.heap[parent]) {
                break;
            }
            self.set(at, self.heap[parent]);
            at = parent;
        }
        self.set(at, var);
    }

    fn down(&mut self, mut at: usize) {
        let var = self.heap[at];
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.better(self.heap[child + 1], self.heap[child]) {
                child += 1;
            }
            if !self.better(self.heap[child], var) {
                break;
            }
            self.set(at, self.heap[child]);
            at = child;
        }
        self.set(at, var);
    }

    fn set(&mut self, at: usize, var: Var) {
        self.heap[at] = var;
        self.place[var.index()] = at as u32;
    }
}
