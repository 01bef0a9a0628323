//! Engines that hand a query to an external SMT solver, as SMT-LIB over a pipe.
//!
//! The encoding (`formula`, `feasible`, `goals`) follows the SMT-versus-DPOR and the race-witness
//! paper, made exact for semantics sections 1 and 2. It shares nothing with the order engine but
//! the structure of the trace, so that the two check each other; unlike there, everything is
//! written down before the solver starts.
//!
//! There are two ways to ask. *Incremental*: one process learns the whole trace once, and each
//! query is pushed on top and popped again. *Fresh*: a process for each query, which gets only the
//! query's cone (`bounds`).
//!
//! The symbolic model adds values (`values`), which are simplified first (`simplify`).

mod cut_short;
mod feasible;
mod formula;
mod goals;
mod lit;
mod model;
mod operators;
mod solver;
mod value_table;
mod values;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use foretell_model::TraceModel;
use foretell_trace::OutputFile;

use self::cut_short::CutShort;
use self::formula::Formula;
use self::model::Values;
use self::solver::{Failure, Process, Start};
use self::value_table::ValueTable;
use super::bounds::Bounds;
use crate::analyses::recorded_witness;
use crate::engine::{Effort, Engine};
use crate::query::{Goal, Limit, Query, Verdict};
use crate::simplify::Symbolic;

pub use self::solver::SmtSolver;

/// Settings of the engines that use an external SMT solver.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SmtOptions {
    /// Order variables as bit-vectors (QF_BV) instead of integers in difference logic (QF_IDL).
    pub bit_blast: bool,
    /// A process for each query, which gets only what the query needs, instead of one that learns
    /// the whole trace.
    pub fresh: bool,
    /// Memory limit of a solver in mebibytes.
    pub memory_mib: Option<u64>,
    /// A directory for the instances, each a self-contained SMT-LIB file.
    pub dump: Option<PathBuf>,
}

/// Number of values to ask for at a time.
const VALUES_AT_A_TIME: usize = 200;

/// Decides queries about one trace with an external solver.
pub struct SmtEngine<'s> {
    trace_model: &'s TraceModel<'s>,
    solver: SmtSolver,
    options: SmtOptions,
    /// The values of the symbolic model.
    values: Option<Arc<Symbolic>>,
    /// The whole trace, once it has been written down, and its text for dumps.
    trace: Option<(Formula<'s>, String)>,
    /// The process that has learnt the whole trace.
    process: Option<Process>,
    effort: Effort,
}

impl<'s> SmtEngine<'s> {
    /// An engine that has not started its solver yet.
    pub fn new(trace_model: &'s TraceModel<'s>, solver: SmtSolver, options: SmtOptions) -> Self {
        Self::with_values(trace_model, solver, options, Symbolic::of_model(trace_model, true))
    }

    /// Returns an engine with shared `values` of the symbolic model.
    pub(crate) fn with_values(
        trace_model: &'s TraceModel<'s>,
        solver: SmtSolver,
        options: SmtOptions,
        values: Option<Arc<Symbolic>>,
    ) -> Self {
        let effort = Effort::default();
        Self { trace_model, solver, options, values, trace: None, process: None, effort }
    }

    /// An empty formula.
    fn formula(&self, bounds: Bounds, open: bool) -> Formula<'s> {
        let mut formula = Formula::new(self.trace_model, bounds, open, self.options.bit_blast);
        formula.values = self.values.clone().map(ValueTable::new);
        formula
    }

    fn start(&self) -> Result<Process, Failure> {
        Process::start(Start {
            solver: self.solver,
            incremental: !self.options.fresh,
            difference_logic: !self.options.bit_blast && self.values.is_none(),
            memory_mib: self.options.memory_mib,
        })
    }

    /// Asks a process of its own about the cone of the query.
    fn ask_fresh(
        &mut self,
        query: &Query,
        bounds: Bounds,
        limit: &Limit<'_>,
    ) -> Result<Verdict, Failure> {
        let started = Instant::now();
        let least = bounds.least.clone();
        let mut formula = self.formula(bounds, false);
        formula.relied_on = goals::relied_on(self.trace_model, query).into_iter().collect();
        let written = formula.feasibility(limit).and_then(|()| formula.query(query, &least));
        let text = header(&formula) + &formula.flush();
        self.effort.constraints += formula.constraints;
        self.count_values(&formula);
        self.effort.encoding += started.elapsed();
        written.map_err(cut_short)?;
        self.dump(query, &[&text])?;
        let started = Instant::now();
        let verdict = self.start().and_then(|process| {
            process.send(text);
            self.answer(&process, &formula, limit)
        });
        self.effort.solving += started.elapsed();
        verdict
    }

    /// Asks the process that knows the whole trace.
    fn ask_incremental(
        &mut self,
        query: &Query,
        bounds: &Bounds,
        limit: &Limit<'_>,
    ) -> Result<Verdict, Failure> {
        let started = Instant::now();
        let written = self.whole_trace(limit);
        let (mut formula, base) = match (self.trace.take(), written) {
            (Some(trace), Ok(())) => trace,
            (_, written) => {
                self.effort.encoding += started.elapsed();
                return Err(written.err().map_or(Failure::Stopped("interrupted"), cut_short));
            }
        };
        let known = formula.constraints;
        formula.open_scope();
        let asked = formula.query(query, &bounds.least);
        let text = formula.flush();
        self.effort.constraints += formula.constraints - known;
        self.count_values(&formula);
        self.effort.encoding += started.elapsed();
        let verdict = asked.map_err(cut_short).and_then(|()| {
            self.dump(query, &[&base, &text])?;
            let started = Instant::now();
            let verdict = self.ask_process(&base, text, &formula, limit);
            self.effort.solving += started.elapsed();
            verdict
        });
        formula.close_scope();
        self.trace = Some((formula, base));
        verdict
    }

    fn count_values(&mut self, formula: &Formula<'_>) {
        if let Some(values) = &formula.values {
            self.effort.slices.add(&values.counts(self.trace_model));
        }
    }

    /// Writes the whole trace down, once.
    fn whole_trace(&mut self, limit: &Limit<'_>) -> Result<(), CutShort> {
        if self.trace.is_none() {
            let bounds = Bounds::whole(self.trace_model);
            let mut formula = self.formula(bounds, true);
            formula.feasibility(limit)?;
            let text = header(&formula) + &formula.flush();
            self.effort.constraints += formula.constraints;
            self.trace = Some((formula, text));
        }
        Ok(())
    }

    fn ask_process(
        &mut self,
        base: &str,
        query: String,
        formula: &Formula<'_>,
        limit: &Limit<'_>,
    ) -> Result<Verdict, Failure> {
        let process = match self.process.take() {
            Some(process) => process,
            None => {
                let process = self.start()?;
                process.send(base.to_owned());
                process
            }
        };
        process.send(format!("(push 1)\n{query}"));
        let verdict = self.answer(&process, formula, limit)?;
        process.send("(pop 1)\n".to_owned());
        // One that failed is dropped, and so ended; the next query starts another.
        self.process = Some(process);
        Ok(verdict)
    }

    /// Asks for the answer and, if there is one, the witness.
    fn answer(
        &self,
        process: &Process,
        formula: &Formula<'_>,
        limit: &Limit<'_>,
    ) -> Result<Verdict, Failure> {
        process.send("(check-sat)\n".to_owned());
        match process.line(limit)?.trim() {
            "unsat" => return Ok(Verdict::Impossible),
            "sat" => {}
            other => return Err(process.complaint(other)),
        }
        let mut values = Values::default();
        for names in formula.names().chunks(VALUES_AT_A_TIME) {
            let names: Vec<String> = names.iter().map(|(p, e)| format!("{p}{}", e.0)).collect();
            process.send(format!("(get-value ({}))\n", names.join(" ")));
            let answer = process.expression(limit)?;
            let bad = |m| Failure::Broken(format!("{}: {m}", self.solver.name()));
            values.read(&answer).map_err(bad)?;
        }
        Ok(Verdict::Witness(values.interleaving(self.trace_model, &formula.bounds)))
    }

    /// Writes an instance to a file of its own, if that is wanted.
    fn dump(&self, query: &Query, texts: &[&str]) -> Result<(), Failure> {
        let Some(dir) = &self.options.dump else { return Ok(()) };
        let path = dir.join(format!("{}.smt2", file_name(query)));
        write_instance(dir, &path, texts)
            .map_err(|e| Failure::Broken(format!("{} cannot be written: {e}", path.display())))
    }
}

fn write_instance(dir: &Path, path: &Path, texts: &[&str]) -> std::io::Result<()> {
    std::fs::create_dir_all(dir)?;
    let mut file = OutputFile::create(path)?;
    file.write_all((texts.concat() + "(check-sat)\n(exit)\n").as_bytes())?;
    file.commit()
}

/// A name that says what is asked, different for different queries about a trace.
fn file_name(query: &Query) -> String {
    let mut name = match query.goal {
        Goal::Reach => "reach".to_owned(),
        Goal::Broken(e) => format!("broken-{}", e.0),
        Goal::Overwritten(e, x) => format!("overwritten-{}-{}", e.0, x.0),
        Goal::Path(b) => format!("path-{}", b.0),
        Goal::Cycle(b) => format!("cycle-{}", b.0),
        Goal::Unordered(a, b) => format!("unordered-{}-{}", a.0, b.0),
        Goal::Stuck(e) => format!("stuck-{}", e.0),
    };
    let mut add = |word: &str, events: &mut dyn Iterator<Item = u32>| {
        for (i, e) in events.enumerate() {
            name.push_str(if i == 0 { word } else { "-" });
            name.push_str(&e.to_string());
        }
    };
    add("-next-", &mut query.next.iter().map(|e| e.0));
    add("-run-", &mut query.run.iter().map(|e| e.0));
    add("-order-", &mut query.order.iter().flat_map(|(a, b)| [a.0, b.0]));
    name
}

fn header(formula: &Formula<'_>) -> String {
    format!("(set-option :produce-models true)\n(set-logic {})\n", formula.logic())
}

fn cut_short(reason: CutShort) -> Failure {
    match reason.0.as_str() {
        "time limit" => Failure::Stopped("time limit"),
        "interrupted" => Failure::Stopped("interrupted"),
        _ => Failure::Broken(reason.0),
    }
}

impl Engine for SmtEngine<'_> {
    fn name(&self) -> &'static str {
        self.solver.name()
    }

    fn decide(&mut self, query: &Query, limit: &Limit<'_>) -> Verdict {
        if let Goal::Unordered(a, b) = query.goal {
            let undecided = || Verdict::Undecided(query.goal.not_by(self.solver.name()));
            let recorded = recorded_witness(self.trace_model, a, b);
            return recorded.map_or_else(undecided, Verdict::Witness);
        }
        if let Goal::Stuck(_) = query.goal {
            return Verdict::Undecided(query.goal.not_by(self.solver.name()));
        }
        let Some(bounds) = Bounds::of_query(self.trace_model, query) else {
            return Verdict::Impossible;
        };
        let verdict = if self.options.fresh {
            self.ask_fresh(query, bounds, limit)
        } else {
            self.ask_incremental(query, &bounds, limit)
        };
        verdict.unwrap_or_else(|failure| {
            Verdict::Undecided(match failure {
                Failure::Stopped(reason) => {
                    self.effort.time_outs += u64::from(reason == "time limit");
                    reason.to_owned()
                }
                Failure::Memory => {
                    self.effort.memory_outs += 1;
                    "memory limit".to_owned()
                }
                Failure::Broken(reason) => reason,
            })
        })
    }

    fn effort(&self) -> Effort {
        self.effort
    }
}
