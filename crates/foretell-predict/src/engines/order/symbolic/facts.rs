//! What the trace says about its values once and for all: where registers are loaded, and of which sorts the
//! values of a variable can be.

use foretell_model::Structure;
use foretell_trace::expr::{Expr, ExprOp, Sort, result_sort};
use foretell_trace::{EventId, EventKind, RegId, Value, ValueId, VarId};

/// More combinations of argument sorts than this are not looked at: no program mixes sorts like that.
const MOST_COMBINATIONS: usize = 256;

/// See the module.
pub(crate) struct Facts {
    /// By register: the reads and updates that load it, in order.
    loads: Vec<Vec<EventId>>,
    /// By variable: the sorts that its values can have.
    sorts: Vec<Vec<Sort>>,
}

impl Facts {
    pub(crate) fn new(structure: &Structure<'_>) -> Self {
        let trace = structure.trace;
        let mut loads = vec![Vec::new(); trace.register_count()];
        for event in trace.events() {
            if let EventKind::Read { register: Some(r), .. }
            | EventKind::Update { register: Some(r), .. } = event.kind
                && let Some(list) = loads.get_mut(r.index())
            {
                list.push(event.id);
            }
        }
        let mut facts = Self { loads, sorts: vec![Vec::new(); trace.variable_count()] };
        facts.find_sorts(structure);
        facts
    }

    /// The event whose value a register holds just before `at`, or just after it.
    pub(super) fn load(&self, r: RegId, at: EventId, after: bool) -> Option<EventId> {
        // A register belongs to one thread, so the order of the trace is that of the thread.
        let list = self.loads.get(r.index())?;
        let end = list.partition_point(|&e| e < at || after && e == at);
        list[..end].last().copied()
    }

    /// The sorts that the values of a variable can have.
    pub(super) fn sorts(&self, x: VarId) -> &[Sort] {
        &self.sorts[x.index()]
    }

    /// The least sets that hold the sorts of all that may be written.
    fn find_sorts(&mut self, structure: &Structure<'_>) {
        let trace = structure.trace;
        for x in (0..trace.variable_count()).map(VarId::from_index) {
            let initial = initial(structure, x);
            self.add(x, initial.map(Sort::of));
        }
        loop {
            let exprs = self.sorts_of_expressions(structure);
            let mut changed = false;
            for event in trace.events() {
                let (var, value, expr) = match event.kind {
                    EventKind::Write { var, value, expr, .. } => (var, value, expr),
                    EventKind::Update { var, new, expr, .. } => (var, new, expr),
                    _ => continue,
                };
                changed |= match expr {
                    Some(expr) => {
                        let sorts = exprs.get(expr.index()).into_iter().flatten();
                        self.add(var, sorts.copied().filter(|&s| s != Sort::Bool))
                    }
                    None => self.add(var, known(structure, value).map(Sort::of)),
                };
            }
            if !changed {
                return;
            }
        }
    }

    fn add(&mut self, x: VarId, sorts: impl IntoIterator<Item = Sort>) -> bool {
        let known = &mut self.sorts[x.index()];
        let before = known.len();
        for sort in sorts {
            if !known.contains(&sort) {
                known.push(sort);
            }
        }
        known.len() > before
    }

    /// By expression: the sorts it can have, as far as is known by now.
    fn sorts_of_expressions(&self, structure: &Structure<'_>) -> Vec<Vec<Sort>> {
        let trace = structure.trace;
        let mut all: Vec<Vec<Sort>> = Vec::with_capacity(trace.exprs().len());
        for (_, node) in trace.exprs().iter() {
            let mut sorts = match node {
                Expr::Const(value) => vec![Sort::of(*value)],
                Expr::Bool(_) => vec![Sort::Bool],
                Expr::Reg(r) => {
                    let loads = self.loads.get(r.index()).map_or(&[][..], Vec::as_slice);
                    let variables = loads.iter().filter_map(|&e| trace.variable(e));
                    variables.flat_map(|x| self.sorts(x)).copied().collect()
                }
                Expr::App(ExprOp::Ite, args) => {
                    let branches = args.iter().skip(1).filter_map(|a| all.get(a.index()));
                    branches.flatten().copied().collect()
                }
                Expr::App(op, args) => {
                    let args: Vec<&[Sort]> = args
                        .iter()
                        .map(|a| all.get(a.index()).map_or(&[][..], Vec::as_slice))
                        .collect();
                    let mut sorts = Vec::new();
                    combinations(&args, |picked| sorts.extend(result_sort(*op, picked).ok()));
                    sorts
                }
            };
            sorts.sort_unstable_by_key(|s| {
                super::words::width(*s) * 2 + usize::from(*s == Sort::Int)
            });
            sorts.dedup();
            all.push(sorts);
        }
        all
    }
}

/// Calls `f` with one sort of each argument, for every choice.
fn combinations(args: &[&[Sort]], mut f: impl FnMut(&[Sort])) {
    let count = args.iter().map(|a| a.len()).try_fold(1usize, |n, len| n.checked_mul(len));
    for mut choice in 0..count.unwrap_or(usize::MAX).min(MOST_COMBINATIONS) {
        let mut picked = Vec::with_capacity(args.len());
        for arg in args {
            picked.push(arg[choice % arg.len()]);
            choice /= arg.len();
        }
        f(&picked);
    }
}

/// The initial value of a variable, if it is known.
pub(super) fn initial(structure: &Structure<'_>, x: VarId) -> Option<Value> {
    known(structure, structure.couples.initial(x))
}

/// A recorded value, if there is one.
pub(super) fn known(structure: &Structure<'_>, value: Option<ValueId>) -> Option<Value> {
    value.and_then(|v| structure.trace.values().get(v))
}
