//! Which variable to decide next: the one that took part in conflicts most, lately (VSIDS of Chaff, in
//! the exponential form of MiniSat), and the value it had last (phase saving).
//!
//! Among variables of equal activity the older one comes first. In the beginning all are equal, so a client that creates its
//! atoms in the observed order has them decided in that order, and the first trail is the observed order.

use crate::lit::Var;

const DECAY: f64 = 0.95;
const RESCALE_ABOVE: f64 = 1e100;
const ABSENT: u32 = u32::MAX;

/// A binary heap of variables by activity, with the place of each.
pub(crate) struct Decide {
    heap: Vec<Var>,
    place: Vec<u32>,
    activity: Vec<f64>,
    increment: f64,
}

impl Decide {
    pub(crate) fn new() -> Self {
        Decide { heap: Vec::new(), place: Vec::new(), activity: Vec::new(), increment: 1.0 }
    }

    pub(crate) fn add_var(&mut self) {
        let var = Var(self.place.len() as u32);
        self.place.push(ABSENT);
        self.activity.push(0.0);
        self.insert(var);
    }

    /// Puts `var` back among those to be decided.
    pub(crate) fn insert(&mut self, var: Var) {
        if self.place[var.index()] == ABSENT {
            self.place[var.index()] = self.heap.len() as u32;
            self.heap.push(var);
            self.up(self.heap.len() - 1);
        }
    }

    /// Takes the best variable out.
    pub(crate) fn pop(&mut self) -> Option<Var> {
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

    /// `var` took part in a conflict.
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
