//! A conflict-driven clause-learning SAT solver with a theory, small and incremental.
//!
//! The state and its invariants are here, with the search loop; each technique has its own file:
//! `propagate` (two watched literals), `analyze` (first unique implication point, minimization,
//! failed assumptions), `decide` (VSIDS, phases), `restart` (Luby), `reduce` (which learnt clauses
//! to keep), `add` (clauses that arrive between two searches), `clauses` (where they are stored),
//! `theory` (what a theory must provide).
//!
//! The trail is kept between two calls of `solve`: a new clause takes back only the decision levels
//! it is in conflict with. A client that adds a few clauses and solves again pays for what changed.
//!
//! # Compared with user propagators
//!
//! [`Theory`] is close to IPASIR-UP, the interface by which CaDiCaL runs external propagators
//! (Fazekas, Niemetz, Preiner, Kirchweger, Szeider and Biere, SAT 2023):
//!
//! | IPASIR-UP | here |
//! |---|---|
//! | `notify_assignment` | [`Theory::assert`], one literal of the trail at a time |
//! | `notify_new_decision_level` | [`Theory::new_level`] |
//! | `notify_backtrack` | [`Theory::backtrack`] |
//! | `cb_propagate`, one literal a call | `implied` of [`Theory::assert`], all at once |
//! | `cb_add_reason_clause_lit` | [`Theory::explain`], on demand, without facts after [`Stamp`] |
//! | `cb_add_external_clause_lit` | `conflict` of [`Theory::assert`]; no other lemmas |
//! | clauses between two calls of `solve` | `add`, which keeps the trail |
//! | `cb_decide` | no callback: a variable has a [`Rank`] and a phase from the start |
//! | `cb_check_found_model` | none: the theory is complete, a full trail is consistent |
//!
//! The order theory could therefore run under CaDiCaL. It does not, for these reasons:
//!
//! - The client is the lazy one, not the theory: the engine simulates each model outside the search
//!   and adds clauses, atoms, nodes and facts. So the trail has to survive all of these from one
//!   call of `solve` to the next, and a query has to reuse what the last one has learnt under its
//!   own assumptions. Both are built into `add` and `keep_assumed_levels`.
//! - New points may split a chain at any time, and an atom may be decided by edges that are older
//!   than it: `decide_next` asks the theory before it decides an atom, without a clause.
//! - Most atoms never take part in a conflict. They are decided in the order of the trace, nearest
//!   first, from a sorted list (`decide`), not by a callback for each decision.
//! - Verdicts and models must not depend on the machine or on time: the search has no clock (limits
//!   only end it), no random choices and no inprocessing, and equal calls give equal models.
//! - Every lemma and every derived clause can be checked while the search runs (`proof`), lemmas
//!   from the definition of an order; the tests do so with restarts and reductions at every few
//!   conflicts.
//! - The default build has no C++ in it.
//!
//! CaDiCaL has what this core lacks: inprocessing (vivification, subsumption, elimination), stable
//! and focused restarts, and proofs in standard formats. The two have not been measured side by
//! side.
//!
//! # Compared with MiniSat
//!
//! The theory was put under batsat 0.6 (MiniSat in Rust, with theories) and run on
//! `benches/order.rs`, same instances, same answers. CPU seconds, 20 queries each, the last line
//! until five formulas are refuted. One run each on a busy machine; this core was tuned on these
//! instances, the adapter was not, and it has the theory as it was before atoms decided by facts
//! were skipped, so part of the difference in the eager runs is the theory's:
//!
//! | family, nodes, clauses | batsat | this core |
//! |---|---|---|
//! | few-locks 20,000, lazy | 0.06 | 0.04 |
//! | lock-heavy 20,000, lazy | 0.08 | 0.07 |
//! | many-chains 20,000, lazy | 0.23 | 0.15 |
//! | very-many-chains 5,000, lazy | 0.40 | 0.27 |
//! | few-locks 5,000, eager | 0.15 | 0.06 |
//! | lock-heavy 5,000, eager | 1.5 | 0.45 |
//! | many-chains 5,000, eager | 1.4 | 0.33 |
//! | very-many-chains 5,000, eager | 3.9 | 2.6 |
//! | random | 0.42 | 0.19 |
//!
//! This core has two things that batsat's interface does not allow: atoms that no conflict has
//! touched are decided in the preferred order, nearest first, which halves the edges that have to
//! be inserted; and the trail survives new clauses, facts, atoms and nodes.

mod add;
mod analyze;
mod clauses;
mod decide;
mod propagate;
mod reduce;
mod restart;
mod theory;

use crate::limit::{Answer, Limit, Stats};
use crate::lit::{Lit, Var};
use crate::proof::Proof;
use clauses::{Clauses, Cref};
use decide::Decide;
pub(crate) use decide::Rank;
use propagate::Watch;
use reduce::Reduce;
use restart::Restart;
pub(crate) use theory::{Stamp, Theory, TheoryConflict};

/// Decisions between two looks at the clock.
const DECISIONS_PER_LOOK: u64 = 32;

/// Conflicts to the first restart.
const RESTART_UNIT: u64 = 100;
/// Conflicts to the first reduction of learnt clauses, and what is added each time.
const REDUCE_FIRST: u64 = 2000;
const REDUCE_STEP: u64 = 300;

/// Why a variable has its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// Decided, assumed, or a fact of level 0.
    None,
    /// The clause has become unit.
    Clause(Cref),
    /// The theory implied it at that moment; the clause is made when it is asked for.
    Theory(Stamp),
}

/// Level and reason of an assigned variable.
#[derive(Clone, Copy)]
struct Assigned {
    level: u32,
    reason: Reason,
}

pub(crate) struct Core<T> {
    pub(crate) theory: T,
    /// False once the clauses are unsatisfiable without assumptions.
    ok: bool,
    clauses: Clauses,
    given: Vec<Cref>,
    /// Clauses of one literal that came while the trail stood above level 0.
    facts: Vec<Lit>,
    learnts: Vec<Cref>,
    /// Explanations of implied literals, some of them not needed any more.
    explanations: Vec<Cref>,
    /// By literal: the clauses that watch it, to be visited when it becomes false. The first two
    /// literals of a clause are watched. Once everything is propagated, a watched literal is false
    /// only if the other one is true.
    watches: Vec<Vec<Watch>>,
    /// By literal: 1 true, -1 false, 0 unassigned.
    values: Vec<i8>,
    assigned: Vec<Assigned>,
    phase: Vec<bool>,
    trail: Vec<Lit>,
    /// The length of the trail where each decision level begins.
    level_starts: Vec<u32>,
    /// Length of the part of the trail that the clauses have seen.
    clause_head: usize,
    /// Length of the part of the trail that the theory has seen; never more than `clause_head`.
    theory_head: usize,
    decide: Decide,
    restart: Restart,
    reduce: Reduce,
    /// Marks of `analyze`, all false between calls.
    seen: Vec<bool>,
    scratch: analyze::Scratch,
    /// The clause all of whose literals are false, after a conflict.
    conflict: Vec<Lit>,
    implied: Vec<Lit>,
    core: Vec<Lit>,
    proof: Option<Box<Proof>>,
    pub(crate) stats: Stats,
}

impl<T: Theory> Core<T> {
    /// A solver with one variable, which is true.
    pub(crate) fn new(theory: T) -> Self {
        let mut core = Core {
            theory,
            ok: true,
            clauses: Clauses::default(),
            given: Vec::new(),
            facts: Vec::new(),
            learnts: Vec::new(),
            explanations: Vec::new(),
            watches: Vec::new(),
            values: Vec::new(),
            assigned: Vec::new(),
            phase: Vec::new(),
            trail: Vec::new(),
            level_starts: Vec::new(),
            clause_head: 0,
            theory_head: 0,
            decide: Decide::new(),
            restart: Restart::new(RESTART_UNIT),
            reduce: Reduce::new(REDUCE_FIRST, REDUCE_STEP),
            seen: Vec::new(),
            scratch: analyze::Scratch::default(),
            conflict: Vec::new(),
            implied: Vec::new(),
            core: Vec::new(),
            proof: None,
            stats: Stats::default(),
        };
        let truth = Lit::new(core.new_var(true, (0, 0)), true);
        core.assign(truth, Reason::None);
        core
    }

    /// A variable that is tried as `phase` first; `rank` says when, as long as it is in no
    /// conflict.
    pub(crate) fn new_var(&mut self, phase: bool, rank: Rank) -> Var {
        let var = Var(self.assigned.len() as u32);
        self.watches.extend([Vec::new(), Vec::new()]);
        self.values.extend([0, 0]);
        self.assigned.push(Assigned { level: 0, reason: Reason::None });
        self.phase.push(phase);
        self.seen.push(false);
        self.decide.add_var(rank);
        var
    }

    /// Assigns a new variable of the theory at level 0 if it is decided there.
    pub(crate) fn settle(&mut self, var: Var) {
        if self.level() == 0
            && let Some(lit) = self.theory.implied(var)
        {
            self.assign_implied(lit);
        }
    }

    pub(crate) fn set_phase(&mut self, lit: Lit) {
        self.phase[lit.var().index()] = lit.is_positive();
    }

    /// Checks every step from now on. What is rare otherwise happens often then, so that it is
    /// tested, too.
    pub(crate) fn check_proofs(&mut self) {
        self.proof = Some(Box::new(Proof::new()));
        self.restart = Restart::new(2);
        self.reduce = Reduce::new(5, 1);
    }

    /// The failed assumptions of the last `Unsat`.
    pub(crate) fn core(&self) -> &[Lit] {
        &self.core
    }

    /// The values of all variables; meaningful after `Sat`.
    pub(crate) fn model(&self) -> impl Iterator<Item = bool> + '_ {
        self.values.iter().step_by(2).map(|&value| value > 0)
    }

    /// Searches for an assignment that makes the assumptions and all clauses true. After `Sat` the
    /// trail is that assignment, until the next change.
    pub(crate) fn solve(&mut self, assumptions: &[Lit], limit: &Limit<'_>) -> Answer {
        self.stats.solves += 1;
        self.core.clear();
        self.keep_assumed_levels(assumptions);
        self.decide.sort_new_vars();
        let mut looks = Looks { conflicts: 0, decisions: 0 };
        let answer = loop {
            if !self.ok {
                break Answer::Unsat;
            }
            if self.propagate().is_err() {
                self.resolve_conflict();
                looks.conflicts += 1;
                if self.ok && limit.reached(looks.conflicts) {
                    break Answer::Unknown;
                }
                continue;
            }
            if self.restart.due() {
                self.stats.restarts += 1;
                self.backtrack(assumptions.len().min(self.level()));
                // Facts that wait for level 0 are on the trail again and have to be propagated at
                // this level: at a later one, the theory would forget them with that level.
                continue;
            }
            if self.reduce.due(self.stats.conflicts) {
                self.reduce_learnts();
            }
            looks.decisions += 1;
            if looks.decisions % DECISIONS_PER_LOOK == 1 && limit.reached(looks.conflicts) {
                break Answer::Unknown;
            }
            match self.decide_next(assumptions) {
                Next::Continue => {}
                Next::Model => break Answer::Sat,
                Next::Failed(assumption) => {
                    self.analyze_failed(assumption);
                    break Answer::Unsat;
                }
            }
        };
        if answer == Answer::Unsat {
            self.check_core();
        }
        answer
    }

    /// Takes back the levels of the last search that are not levels of these assumptions.
    ///
    /// Assumption `i` is decided at level `i + 1`, or that level is empty because it was true
    /// already. Levels above the assumptions are free decisions and may stay.
    fn keep_assumed_levels(&mut self, assumptions: &[Lit]) {
        for (i, &assumption) in assumptions.iter().enumerate().take(self.level()) {
            let start = self.level_starts[i] as usize;
            let end = self.level_starts.get(i + 1).map_or(self.trail.len(), |&end| end as usize);
            let decided = start < end && self.trail[start] == assumption;
            let was_true =
                start == end && self.is_true(assumption) && self.level_of(assumption) as usize <= i;
            if !(decided || was_true) {
                self.backtrack(i);
                return;
            }
        }
    }

    fn decide_next(&mut self, assumptions: &[Lit]) -> Next {
        while let Some(&assumption) = assumptions.get(self.level()) {
            match self.value(assumption) {
                0 => {
                    self.decide(assumption);
                    return Next::Continue;
                }
                1 => self.new_level(),
                _ => return Next::Failed(assumption),
            }
        }
        let values = &self.values;
        let Some(var) = self.decide.next(|var| values[Lit::new(var, true).index()] != 0) else {
            return Next::Model;
        };
        // An atom made after the edges that decide it was not implied when they came.
        if let Some(lit) = self.theory.implied(var) {
            self.assign_implied(lit);
        } else {
            self.decide(Lit::new(var, self.phase[var.index()]));
        }
        Next::Continue
    }

    fn decide(&mut self, lit: Lit) {
        self.stats.decisions += 1;
        self.new_level();
        self.assign(lit, Reason::None);
    }

    /// Begins a decision level. Clauses and theory have seen the whole trail: what they derive from
    /// a literal must not belong to a later level than the literal.
    fn new_level(&mut self) {
        debug_assert_eq!(
            (self.clause_head, self.theory_head),
            (self.trail.len(), self.trail.len())
        );
        self.level_starts.push(self.trail.len() as u32);
        self.theory.new_level();
    }

    fn level(&self) -> usize {
        self.level_starts.len()
    }

    fn value(&self, lit: Lit) -> i8 {
        self.values[lit.index()]
    }

    fn is_true(&self, lit: Lit) -> bool {
        self.value(lit) > 0
    }

    fn is_false(&self, lit: Lit) -> bool {
        self.value(lit) < 0
    }

    fn level_of(&self, lit: Lit) -> u32 {
        self.assigned[lit.var().index()].level
    }

    /// Is it assigned for good?
    fn is_fixed(&self, lit: Lit) -> bool {
        self.value(lit) != 0 && self.level_of(lit) == 0
    }

    fn assign(&mut self, lit: Lit, reason: Reason) {
        debug_assert_eq!(self.value(lit), 0);
        self.values[lit.index()] = 1;
        self.values[(!lit).index()] = -1;
        self.assigned[lit.var().index()] = Assigned { level: self.level() as u32, reason };
        self.trail.push(lit);
    }

    /// Assigns what the theory implies now.
    fn assign_implied(&mut self, lit: Lit) {
        self.stats.theory_propagations += 1;
        let stamp = self.theory.stamp();
        self.assign(lit, Reason::Theory(stamp));
        if self.proof.is_some() && self.level() == 0 {
            // The search does not ask for the reasons of level 0, but the proof needs them.
            self.explanation_of(lit.var(), stamp);
        }
    }

    fn backtrack(&mut self, level: usize) {
        if self.level() <= level {
            return;
        }
        let start = self.level_starts[level] as usize;
        for at in (start..self.trail.len()).rev() {
            let lit = self.trail[at];
            self.values[lit.index()] = 0;
            self.values[(!lit).index()] = 0;
            self.phase[lit.var().index()] = lit.is_positive();
            self.decide.insert(lit.var());
        }
        self.trail.truncate(start);
        self.level_starts.truncate(level);
        self.clause_head = self.clause_head.min(start);
        self.theory_head = self.theory_head.min(start);
        self.theory.backtrack(level);
        self.assign_facts();
    }
}

struct Looks {
    conflicts: u64,
    decisions: u64,
}

/// Outcome of `decide_next`.
enum Next {
    /// There is something to propagate.
    Continue,
    /// Every variable is assigned.
    Model,
    /// The assumption is false.
    Failed(Lit),
}
