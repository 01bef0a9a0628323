//! Formulas as SMT-LIB text.
//!
//! - `o7` is the place of event 7: an integer, or a bit-vector with just enough bits.
//! - `i7` says that event 7 is in the interleaving. It is the negation of the SMT-versus-DPOR
//!   paper's `Skip(7)`.
//! - `k7` says that the view of event 7 is relied on, so it is not `Broken(7)`.
//! - `v7` is an auxiliary variable, `r7` the rank of an auxiliary variable.
//! - What the symbolic model adds is in `values`.
//!
//! An event gets variables only when a constraint names it, and program order links the named
//! events of a thread. Order atoms occur only positively. So events that are not in the
//! interleaving may be thought of as coming after all that are, in the observed order, and equal
//! places may be read as either order: any solution can be turned into such a one.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use foretell_model::TraceModel;
use foretell_trace::{EventId, ThreadId};
use rustc_hash::FxHashSet;

use super::lit::Lit;
use super::value_table::ValueTable;
use crate::engines::bounds::Bounds;

/// A formula under construction, with everything that has been declared so far.
pub(super) struct Formula<'s> {
    pub(super) trace_model: &'s TraceModel<'s>,
    pub(super) bounds: Bounds,
    /// Later queries may ask for any view to be kept.
    open: bool,
    /// Events whose view the query relies on.
    pub(super) relied_on: FxHashSet<EventId>,
    /// The width of bit-vectors; `None` for integers.
    bits: Option<u32>,
    body: String,
    /// Positions of the events that have an `o`, and an `i`, by thread.
    ordered: Vec<BTreeSet<u32>>,
    ran: Vec<BTreeSet<u32>>,
    kept: FxHashSet<EventId>,
    /// Declarations since the last flush.
    new_ordered: Vec<EventId>,
    new_ran: Vec<EventId>,
    new_kept: Vec<EventId>,
    new_ranks: Vec<u32>,
    variables: u32,
    first_new_variable: u32,
    /// Declarations of the current scope, to forget them.
    scope: Option<(Vec<EventId>, Vec<EventId>, Vec<EventId>)>,
    pub(super) constraints: u64,
    /// The values of the symbolic model.
    pub(super) values: Option<ValueTable>,
}

impl<'s> Formula<'s> {
    /// An empty formula. With `open`, queries come later, in scopes.
    pub(super) fn new(
        trace_model: &'s TraceModel<'s>,
        bounds: Bounds,
        open: bool,
        bit_blast: bool,
    ) -> Self {
        let threads = trace_model.chains.thread_count();
        let events: u64 = bounds.most.iter().map(|&n| u64::from(n)).sum();
        let bits = bit_blast.then(|| u64::BITS - events.max(2).leading_zeros());
        Self {
            trace_model,
            bounds,
            open,
            relied_on: FxHashSet::default(),
            bits,
            body: String::new(),
            ordered: vec![BTreeSet::new(); threads],
            ran: vec![BTreeSet::new(); threads],
            kept: FxHashSet::default(),
            new_ordered: Vec::new(),
            new_ran: Vec::new(),
            new_kept: Vec::new(),
            new_ranks: Vec::new(),
            variables: 0,
            first_new_variable: 0,
            scope: None,
            constraints: 0,
            values: None,
        }
    }

    /// The logic of the formula.
    pub(super) fn logic(&self) -> &'static str {
        match (self.bits, &self.values) {
            (Some(_), _) => "QF_BV",
            (None, None) => "QF_IDL",
            // Difference logic and bit-vectors: no other name for it is known to all solvers.
            (None, Some(_)) => "ALL",
        }
    }

    /// A new auxiliary variable.
    pub(super) fn var(&mut self) -> u32 {
        self.variables += 1;
        self.variables - 1
    }

    /// Gives an auxiliary variable a rank.
    pub(super) fn rank(&mut self, v: u32) {
        self.new_ranks.push(v);
    }

    /// The condition under which the view of `e` is relied on; `None` if it never is.
    pub(super) fn reliance(&self, e: EventId) -> Option<Lit> {
        let TraceModel { trace, chains, .. } = self.trace_model;
        if self.trace_model.uses_hidden_state(e) {
            // It does not run without the write before it.
            return Some(Lit::True);
        }
        let next = chains.next(trace, e);
        let goes_on = next.filter(|&next| !self.bounds.never(self.trace_model, next));
        if self.relied_on.contains(&e)
            || goes_on.is_some_and(|next| self.bounds.always(self.trace_model, next))
        {
            return Some(Lit::True);
        }
        let mut joins = chains.joins(trace.thread(e)).iter();
        let is_joined =
            next.is_none() && joins.any(|&join| !self.bounds.never(self.trace_model, join));
        if self.open || trace.op(e).writes() || is_joined {
            return Some(Lit::Kept(e));
        }
        goes_on.map(Lit::Ran)
    }

    /// A literal with what the bounds say about it.
    fn fold(&self, lit: Lit) -> Lit {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let (always, never) = (
            |e| self.bounds.always(self.trace_model, e),
            |e| self.bounds.never(self.trace_model, e),
        );
        match lit {
            Lit::Ran(e) | Lit::NotRan(e) if always(e) || never(e) => {
                if always(e) == matches!(lit, Lit::Ran(_)) { Lit::True } else { Lit::False }
            }
            Lit::Kept(e) => self.reliance(e).unwrap_or(Lit::False),
            Lit::NotKept(e) => self.reliance(e).map_or(Lit::True, Lit::not),
            Lit::Less(a, b) => {
                let holds = if trace.thread(a) == trace.thread(b) {
                    chains.position(a) < chains.position(b)
                } else if never(a) {
                    false
                } else if never(b) {
                    true
                } else {
                    return lit;
                };
                if holds { Lit::True } else { Lit::False }
            }
            lit => lit,
        }
    }

    /// If all of `antecedents`, then all of one of `alternatives`.
    pub(super) fn implies(&mut self, antecedents: &[Lit], alternatives: &[&[Lit]]) {
        const ASSERT: &str = "(assert";
        let start = self.body.len();
        let declared = (self.new_ordered.len(), self.new_ran.len(), self.new_kept.len());
        self.body.push_str(ASSERT);
        let mut disjuncts = 0;
        let mut holds = false;
        for &lit in antecedents {
            match self.fold(lit).not() {
                Lit::False => continue,
                Lit::True => holds = true,
                lit => self.write(lit),
            }
            disjuncts += 1;
        }
        for &alternative in alternatives {
            if holds {
                break;
            }
            let before = self.body.len();
            holds = self.conjunction(alternative);
            disjuncts += usize::from(self.body.len() > before);
        }
        if holds {
            self.body.truncate(start);
            self.undeclare(declared);
            return;
        }
        match disjuncts {
            0 => self.body.push_str(" false"),
            1 => {}
            _ => {
                self.body.insert_str(start + ASSERT.len(), " (or");
                self.body.push(')');
            }
        }
        self.body.push_str(")\n");
        self.constraints += 1;
    }

    /// If all of `antecedents`, then a truth that is given as text.
    pub(super) fn implies_text(&mut self, antecedents: &[Lit], consequence: &str) {
        let antecedents: Vec<Lit> =
            antecedents.iter().map(|&lit| self.fold(lit)).filter(|&lit| lit != Lit::True).collect();
        match consequence {
            "true" => return,
            "false" => return self.implies(&antecedents, &[]),
            _ if antecedents.contains(&Lit::False) => return,
            _ => {}
        }
        self.body.push_str("(assert");
        if !antecedents.is_empty() {
            self.body.push_str(" (or");
        }
        for &lit in &antecedents {
            self.write(lit.not());
        }
        self.body.push(' ');
        self.body.push_str(consequence);
        self.body.push_str(if antecedents.is_empty() { ")\n" } else { "))\n" });
        self.constraints += 1;
    }

    /// Declares a name of the symbolic model.
    pub(super) fn declare_text(&mut self, name: &str, sort: &str) {
        let written = writeln!(self.body, "(declare-fun {name} () {sort})");
        debug_assert!(written.is_ok(), "a string takes everything");
    }

    /// Defines a name of the symbolic model.
    pub(super) fn define_text(&mut self, name: &str, sort: &str, text: &str) {
        let written = writeln!(self.body, "(define-fun {name} () {sort} {text})");
        debug_assert!(written.is_ok(), "a string takes everything");
    }

    /// Writes a conjunction, nothing if it is false; whether it is true.
    fn conjunction(&mut self, lits: &[Lit]) -> bool {
        let start = self.body.len();
        let mut first = None;
        let mut several = false;
        for &lit in lits {
            match self.fold(lit) {
                Lit::True => {}
                Lit::False => {
                    self.body.truncate(start);
                    return false;
                }
                lit => match first {
                    None => first = Some(lit),
                    Some(one) => {
                        if !several {
                            self.body.push_str(" (and");
                            self.write(one);
                        }
                        several = true;
                        self.write(lit);
                    }
                },
            }
        }
        match first {
            None => return true,
            Some(_) if several => self.body.push(')'),
            Some(lit) => self.write(lit),
        }
        false
    }

    /// Writes ` lit`, declaring what it names.
    fn write(&mut self, lit: Lit) {
        match lit {
            Lit::Ran(e) | Lit::NotRan(e) => self.name_ran(e),
            Lit::Kept(e) | Lit::NotKept(e) => self.name_kept(e),
            Lit::Less(a, b) => {
                self.name_ordered(a);
                self.name_ordered(b);
            }
            _ => {}
        }
        let less = if self.bits.is_some() { "bvult" } else { "<" };
        let written = match lit {
            Lit::True => write!(self.body, " true"),
            Lit::False => write!(self.body, " false"),
            Lit::Ran(e) => write!(self.body, " i{}", e.0),
            Lit::NotRan(e) => write!(self.body, " (not i{})", e.0),
            Lit::Kept(e) => write!(self.body, " k{}", e.0),
            Lit::NotKept(e) => write!(self.body, " (not k{})", e.0),
            Lit::Less(a, b) => write!(self.body, " ({less} o{} o{})", a.0, b.0),
            Lit::Var(v) => write!(self.body, " v{v}"),
            Lit::NotVar(v) => write!(self.body, " (not v{v})"),
            Lit::RankLess(a, b) => write!(self.body, " ({less} r{a} r{b})"),
        };
        debug_assert!(written.is_ok(), "a string takes everything");
    }

    fn name_ran(&mut self, e: EventId) {
        let thread = self.trace_model.trace.thread(e).index();
        if self.ran[thread].insert(self.trace_model.chains.position(e)) {
            self.new_ran.push(e);
        }
    }

    fn name_kept(&mut self, e: EventId) {
        if self.kept.insert(e) {
            self.new_kept.push(e);
        }
    }

    fn name_ordered(&mut self, e: EventId) {
        let thread = self.trace_model.trace.thread(e).index();
        if self.ordered[thread].insert(self.trace_model.chains.position(e)) {
            self.new_ordered.push(e);
        }
    }

    /// Forgets the latest declarations.
    fn undeclare(&mut self, (ordered, ran, kept): (usize, usize, usize)) {
        let TraceModel { trace, chains, .. } = self.trace_model;
        for e in self.new_ordered.drain(ordered..) {
            self.ordered[trace.thread(e).index()].remove(&chains.position(e));
        }
        for e in self.new_ran.drain(ran..) {
            self.ran[trace.thread(e).index()].remove(&chains.position(e));
        }
        for e in self.new_kept.drain(kept..) {
            self.kept.remove(&e);
        }
    }

    /// Opens a scope: what is declared from now on is forgotten when it closes.
    pub(super) fn open_scope(&mut self) {
        self.scope = Some(Default::default());
        if let Some(values) = &mut self.values {
            values.open_scope();
        }
    }

    /// Closes the scope.
    pub(super) fn close_scope(&mut self) {
        let Some((ordered, ran, kept)) = self.scope.take() else { return };
        if let Some(values) = &mut self.values {
            values.close_scope();
        }
        self.undeclare((0, 0, 0));
        (self.new_ordered, self.new_ran, self.new_kept) = (ordered, ran, kept);
        self.undeclare((0, 0, 0));
        self.new_ranks.clear();
        self.body.clear();
        self.first_new_variable = self.variables;
    }

    /// Everything since the last call: declarations, program order, constraints.
    pub(super) fn flush(&mut self) -> String {
        let mut text = String::with_capacity(self.body.len() + 64 * self.new_ordered.len());
        let sort = match self.bits {
            Some(bits) => format!("(_ BitVec {bits})"),
            None => "Int".to_owned(),
        };
        let mut declare = |prefix: char, names: &mut dyn Iterator<Item = u32>, sort: &str| {
            for n in names {
                let written = writeln!(text, "(declare-fun {prefix}{n} () {sort})");
                debug_assert!(written.is_ok(), "a string takes everything");
            }
        };
        self.close_kept();
        declare('o', &mut self.new_ordered.iter().map(|e| e.0), &sort);
        declare('i', &mut self.new_ran.iter().map(|e| e.0), "Bool");
        declare('k', &mut self.new_kept.iter().map(|e| e.0), "Bool");
        declare('v', &mut (self.first_new_variable..self.variables), "Bool");
        declare('r', &mut self.new_ranks.iter().copied(), &sort);
        self.program_order(&mut text);
        text.push_str(&self.body);
        self.body.clear();
        self.first_new_variable = self.variables;
        self.new_ranks.clear();
        let new = [&mut self.new_ordered, &mut self.new_ran, &mut self.new_kept];
        let [ordered, ran, kept] = new.map(std::mem::take);
        if let Some(scope) = &mut self.scope {
            scope.0.extend(ordered);
            scope.1.extend(ran);
            scope.2.extend(kept);
        }
        text
    }

    /// A thread that goes on relies on the view of what came before.
    fn close_kept(&mut self) {
        for i in 0..self.new_kept.len() {
            foretell_limit::check();
            let e = self.new_kept[i];
            let TraceModel { trace, chains, .. } = self.trace_model;
            match chains.next(trace, e) {
                Some(next) => self.implies(&[Lit::Ran(next)], &[&[Lit::Kept(e)]]),
                // Only a thread without broken events is joined.
                None => {
                    for &join in chains.joins(trace.thread(e)) {
                        self.implies(&[Lit::Ran(join)], &[&[Lit::Kept(e)]]);
                    }
                }
            }
            self.implies(&[Lit::Kept(e)], &[&[Lit::Ran(e)]]);
        }
    }

    /// Links the new events of each thread with their neighbours.
    fn program_order(&mut self, text: &mut String) {
        let TraceModel { trace, chains, .. } = self.trace_model;
        let less = if self.bits.is_some() { "bvult" } else { "<" };
        let kinds = [(&self.new_ordered, &self.ordered, true), (&self.new_ran, &self.ran, false)];
        for (new, all, ordered) in kinds {
            let is_new: FxHashSet<EventId> = new.iter().copied().collect();
            for &e in new {
                foretell_limit::check();
                let thread = trace.thread(e);
                let (position, named) = (chains.position(e), &all[thread.index()]);
                let at = |p: &u32| chains.events(thread)[*p as usize];
                let before = named.range(..position).next_back().map(at);
                let after = named.range(position + 1..).next().map(at);
                let pairs =
                    [before.map(|b| (b, e)), after.filter(|a| !is_new.contains(a)).map(|a| (e, a))];
                for (a, b) in pairs.into_iter().flatten() {
                    let written = if ordered {
                        writeln!(text, "(assert ({less} o{} o{}))", a.0, b.0)
                    } else {
                        writeln!(text, "(assert (or (not i{}) i{}))", b.0, a.0)
                    };
                    debug_assert!(written.is_ok(), "a string takes everything");
                    self.constraints += 1;
                }
            }
        }
    }

    /// The names of the places and of the events that may or may not be in the interleaving.
    pub(super) fn names(&self) -> Vec<(char, EventId)> {
        let mut names = Vec::new();
        for (prefix, sets) in [('o', &self.ordered), ('i', &self.ran)] {
            for (t, set) in sets.iter().enumerate() {
                foretell_limit::check();
                let events = self.trace_model.chains.events(ThreadId::from_index(t));
                names.extend(set.iter().map(|&p| (prefix, events[p as usize])));
            }
        }
        names
    }
}
