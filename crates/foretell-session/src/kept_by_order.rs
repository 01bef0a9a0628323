//! Findings that only the order of code that is not recorded makes impossible.
//!
//! Variables whose names begin with `hidden:` keep that order. A second prediction runs on the
//! trace without their events; its findings in groups where the first one has none were impossible
//! only because of that order.

mod chain;

use std::collections::{BTreeSet, HashMap, HashSet};

use foretell_predict::driver;
use foretell_predict::finding::Defect;
use foretell_report::json::{self, Block, Finding, Findings, Source};
use foretell_report::kept_by_order::{HIDDEN, KeptByOrder};
use foretell_trace::expr::Expr;
use foretell_trace::{
    EventId, EventKind, ExprId, FindingKind, Model, Op, RegId, ThreadId, Trace, VarId, legality,
};

use crate::PredictOptions;
use chain::Chains;

/// Returns the findings that only kept order makes impossible. `found` is the answer of the
/// prediction on the trace.
///
/// # Errors
/// If a witness is refused by the checker: a defect of Foretell.
pub(crate) fn entries(
    trace: &Trace,
    model: Model,
    options: &PredictOptions<'_>,
    found: &Findings,
) -> Result<Vec<KeptByOrder>, Vec<Defect>> {
    let hidden = Hidden::new(trace);
    let (relaxed, events) = without(trace, &hidden);
    if events.len() == trace.len() || legality::check(&relaxed).is_err() {
        return Ok(Vec::new());
    }
    let driver = driver::Options { progress: None, ..options.driver.clone() };
    let prediction = driver::predict(&relaxed, model, &driver)?;
    let known = Known::new(trace, driver.all, found);
    let chains = Chains::new(trace, &hidden);
    let mut file = Findings::new(found.trace.clone());
    for finding in &prediction.findings {
        let finding = json::finding(&finding.pattern, &[], finding.engine, &relaxed);
        if let Some(finding) = in_trace(finding, &events)
            && !known.has(&finding)
        {
            file.findings.push(finding);
        }
    }
    file.renumber();
    let entry = |finding: Finding| KeptByOrder {
        kept_by: chains.forbidding(&finding),
        kind: finding.kind,
        events: finding.events,
        objects: finding.objects,
        locations: finding.locations,
        block: finding.block,
    };
    Ok(file.findings.into_iter().map(entry).collect())
}

/// Events that only keep order.
struct Hidden {
    /// Whether a variable stands for hidden state, by its index.
    variables: Vec<bool>,
    /// Guards on nothing but what accesses to those variables read.
    guards: HashSet<EventId>,
}

impl Hidden {
    fn new(trace: &Trace) -> Self {
        let variables = (0..trace.variable_count()).map(VarId::from_index);
        let is_hidden = |var| trace.is_opaque(var) && trace.variable_name(var).starts_with(HIDDEN);
        let variables = variables.map(is_hidden).collect();
        let mut hidden = Hidden { variables, guards: HashSet::new() };
        // A variable whose value other events depend on stays, and with it the guards on it.
        while hidden.keep_used(trace) {}
        hidden
    }

    /// Finds the guards. Returns whether there are fewer variables now, because an expression uses
    /// their values together with others.
    fn keep_used(&mut self, trace: &Trace) -> bool {
        self.guards.clear();
        let mut set_by: HashMap<RegId, VarId> = HashMap::new();
        let mut used = Vec::new();
        for event in trace.events() {
            foretell_limit::check();
            let (expr, is_guard) = match event.kind {
                EventKind::Guard { expr } => (Some(expr), true),
                EventKind::Write { expr, .. } | EventKind::Update { expr, .. } => (expr, false),
                _ => (None, false),
            };
            let own = trace.variable(event.id).filter(|var| self.variables[var.index()]);
            if let Some(expr) = expr.filter(|_| own.is_none()) {
                let registers = registers(trace, expr);
                let hidden = registers.iter().filter_map(|register| set_by.get(register).copied());
                let hidden: Vec<VarId> = hidden.collect();
                if is_guard && !hidden.is_empty() && hidden.len() == registers.len() {
                    self.guards.insert(event.id);
                } else {
                    used.extend(hidden);
                }
            }
            if let EventKind::Read { register: Some(register), .. }
            | EventKind::Update { register: Some(register), .. } = event.kind
            {
                match own {
                    Some(var) => set_by.insert(register, var),
                    None => set_by.remove(&register),
                };
            }
        }
        for var in &used {
            self.variables[var.index()] = false;
        }
        !used.is_empty()
    }

    /// Whether an event is an access to hidden state.
    fn is_use(&self, trace: &Trace, event: EventId) -> bool {
        trace.variable(event).is_some_and(|var| self.variables[var.index()])
    }
}

/// Returns the registers of an expression.
fn registers(trace: &Trace, expr: ExprId) -> HashSet<RegId> {
    let (mut registers, mut seen) = (HashSet::new(), HashSet::new());
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        if !seen.insert(expr) {
            continue;
        }
        match trace.exprs().get(expr) {
            Some(Expr::Reg(register)) => {
                registers.insert(*register);
            }
            Some(Expr::App(_, arguments)) => open.extend(arguments.iter().copied()),
            _ => {}
        }
    }
    registers
}

/// Returns the trace without the events that only keep order, and the original of each event.
fn without(trace: &Trace, hidden: &Hidden) -> (Trace, Vec<EventId>) {
    let mut builder = trace.builder_with_names();
    let mut events = Vec::new();
    for event in trace.events() {
        foretell_limit::check();
        if !hidden.is_use(trace, event.id) && !hidden.guards.contains(&event.id) {
            builder.push_ordered(event.thread, event.kind, event.order, event.site);
            events.push(event.id);
        }
    }
    (builder.build(), events)
}

/// Returns a finding of the trace without hidden events as one of the whole trace.
fn in_trace(mut finding: Finding, events: &[EventId]) -> Option<Finding> {
    let original = |event: u32| events.get(event as usize).map(|e| e.0);
    let source = |source: Option<Source>| match source {
        Some(Source::Event(event)) => original(event).map(Source::Event),
        other => other,
    };
    finding.events = finding.events.iter().map(|&e| original(e)).collect::<Option<_>>()?;
    finding.writer = source(finding.writer);
    finding.challenger = source(finding.challenger);
    if let Some(Block { begin, end }) = finding.block {
        finding.block = Some(Block { begin: original(begin)?, end: end.and_then(original) });
    }
    Some(finding)
}

/// Source location of an event; where it is unknown, thread, operation and variable stand for it,
/// as in the groups of a prediction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Location {
    Known(u32),
    Unknown(ThreadId, Op, Option<VarId>),
    Event(u32),
}

/// Groups of candidates that the prediction on the whole trace has not proved impossible.
struct Known<'a> {
    trace: &'a Trace,
    /// Whether each candidate is a group of its own.
    all: bool,
    groups: BTreeSet<(FindingKind, Vec<Location>)>,
}

impl<'a> Known<'a> {
    fn new(trace: &'a Trace, all: bool, found: &Findings) -> Self {
        let mut known = Known { trace, all, groups: BTreeSet::new() };
        for finding in &found.findings {
            known.groups.insert(known.group_of(finding));
        }
        for open in &found.undecided {
            for is_final in [false, true] {
                let group = known.group(open.kind, &open.events, open.block, is_final);
                known.groups.insert(group);
            }
        }
        known
    }

    fn has(&self, finding: &Finding) -> bool {
        self.groups.contains(&self.group_of(finding))
    }

    fn group_of(&self, finding: &Finding) -> (FindingKind, Vec<Location>) {
        let is_final = finding.is_final_value();
        self.group(finding.kind, &finding.events, finding.block, is_final)
    }

    fn group(
        &self,
        kind: FindingKind,
        events: &[u32],
        block: Option<Block>,
        is_final: bool,
    ) -> (FindingKind, Vec<Location>) {
        let mut group: Vec<Location> = match block {
            Some(block) => vec![self.location(block.begin)],
            None => events.iter().map(|&e| self.location(e)).collect(),
        };
        match kind {
            FindingKind::Race | FindingKind::Deadlock | FindingKind::Hang => group.sort_unstable(),
            FindingKind::Nondeterminism if is_final => group.extend_from_within(..),
            _ => {}
        }
        (kind, group)
    }

    fn location(&self, event: u32) -> Location {
        let e = EventId(event);
        match self.trace.site(e) {
            _ if self.all => Location::Event(event),
            Some(site) => Location::Known(self.trace.location_index(site)),
            None => {
                Location::Unknown(self.trace.thread(e), self.trace.op(e), self.trace.variable(e))
            }
        }
    }
}
