//! SAT modulo strict order: is there a total order of these points, and an assignment of these
//! booleans, such that all clauses hold?
//!
//! Points ([`Node`]) stand on chains ([`Chain`]), each of which is totally ordered from the start.
//! Clauses are over booleans and atoms `x < y`. Nothing here knows of threads, locks or traces.
//!
//! ```
//! use foretell_order::{Answer, Limit, Solver};
//!
//! // Two chains of two points each: a0 < a1 and b0 < b1.
//! let mut solver = Solver::new();
//! let (a, b) = (solver.add_chain(), solver.add_chain());
//! let (a0, a1) = (solver.node(a, 0, 0), solver.node(a, 1, 1));
//! let (b0, b1) = (solver.node(b, 0, 2), solver.node(b, 1, 3));
//!
//! // They must not overlap: all of a before all of b, or the other way round.
//! let (a_first, b_first) = (solver.less(a1, b0), solver.less(b1, a0));
//! solver.add_clause(&[a_first, b_first]);
//! assert_eq!(solver.solve(&[], &Limit::none()), Answer::Sat);
//! assert_eq!(solver.linear_order(), [a0, a1, b0, b1]); // as the priorities prefer
//!
//! // Assume something else about the ends.
//! let b_starts = solver.less(b0, a0);
//! assert_eq!(solver.solve(&[b_starts], &Limit::none()), Answer::Sat);
//! assert_eq!(solver.linear_order(), [b0, b1, a0, a1]);
//!
//! // Both cannot start first; the core says which assumptions are to blame.
//! let a_ends = solver.less(a1, b1);
//! assert_eq!(solver.solve(&[b_starts, a_ends], &Limit::none()), Answer::Unsat);
//! assert_eq!(solver.core().len(), 2);
//!
//! // Points may be asked for at any time, also in the middle of a chain.
//! let middle = solver.node(a, 0, 0);
//! assert_eq!(middle, a0); // this one was there already
//! ```
//!
//! The solver is incremental: chains, nodes, atoms and clauses can be added between calls of
//! [`Solver::solve`], and what was learnt stays. A client that generates its clauses lazily (solve,
//! look at [`Solver::linear_order`], add what it violates, solve again) pays for what changed.

mod cdcl;
mod chains;
mod limit;
mod linearize;
mod lit;
mod order_theory;
mod proof;
mod solver;

pub use chains::{Chain, Node};
pub use limit::{Answer, Limit, Stats};
pub use lit::Lit;
pub use solver::Solver;
