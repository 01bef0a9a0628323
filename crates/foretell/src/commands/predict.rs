//! `foretell predict`: what other interleavings of a trace would show.

mod stats;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use foretell_model::TraceModel;
use foretell_predict::analyses::Candidate;
use foretell_predict::driver::{self, Counts, Options, Prediction, Progress};
use foretell_predict::engines::dpor::DporOptions;
use foretell_predict::engines::smt::SmtOptions;
use foretell_predict::engines::{EngineKind, EngineOptions};
use foretell_predict::finding::Defect;
use foretell_report::identity;
use foretell_report::json::{self, Block, Findings, Shard, TraceInfo};
use foretell_trace::{EventId, FindingKind, Model, Trace};
use serde_json::Map;

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::output::Destination;
use crate::progress;
use crate::reporting::{Format, ReportOptions, Reporting, any_shown};
use crate::terminal::{Terminal, complain};

/// Predict the bugs that other interleavings of a trace would show
///
/// Every finding comes with a schedule that the independent checker has accepted. Without a limit
/// the answer is exact: all of the findings there are, and no others.
#[derive(clap::Args, Debug)]
pub(crate) struct Predict {
    /// The traces to analyse
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,

    #[command(flatten)]
    options: TraceOptions,

    /// What to look for: race, atomicity, serializability, transactions, nondeterminism, deadlock
    /// [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    analyses: Vec<FindingKind>,

    /// Which other interleavings count as possible: auto, view, value, symbolic
    #[arg(long, default_value = "auto")]
    model: ModelChoice,

    /// What decides the queries: order, dpor (explicit search), graph (choice graphs for nondeterminism,
    /// order for the rest), auto (one of these three, chosen for each query), or the external solvers z3,
    /// cvc5, yices
    #[arg(long, default_value = "order")]
    engine: EngineKind,

    /// External solvers: order variables as bit-vectors instead of integers
    #[arg(long)]
    bit_blast: bool,

    /// External solvers: write every instance to this directory as SMT-LIB
    #[arg(long, value_name = "DIR")]
    dump_smt: Option<PathBuf>,

    /// dpor: at most this many context switches that are not significant; a "no" is then undecided ("bounded")
    #[arg(long, value_name = "N")]
    context_bound: Option<u32>,

    /// dpor: give up on a query after this many states [default: 500000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    node_budget: Option<u64>,

    /// Look for serializability violations of a block in the whole trace, not only in its segment
    #[arg(long)]
    no_segments: bool,

    /// Put every block to the engine, also where the static check proves it serializable
    #[arg(long)]
    no_static_check: bool,

    /// Model symbolic: take guards and expressions as they are, without folding constants and slicing first
    #[arg(long)]
    no_simplify: bool,

    /// What to print
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Also write the findings to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Every finding, instead of one for each group of places in the source
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    report: ReportOptions,

    /// Print the columns of the papers' tables: what each phase settled, verdicts, sizes and times
    #[arg(long)]
    stats: bool,

    /// Give up on a query after this many seconds; it then counts as undecided
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Give up on everything that is left after this many seconds
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    budget: Option<Duration>,

    /// Worker threads [default: all cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Do one of N equal parts of the work; `foretell merge` puts the parts together
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Exit with status 3 if a query stayed undecided
    #[arg(long)]
    strict: bool,
}

/// A model, or the most permissive one that the trace supports.
#[derive(Clone, Copy, Debug)]
enum ModelChoice {
    Auto,
    Given(Model),
}

impl std::str::FromStr for ModelChoice {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(ModelChoice::Auto),
            name => name.parse().map(ModelChoice::Given),
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|secs| Duration::try_from_secs_f64(secs).ok())
        .ok_or_else(|| format!("`{text}` is no number of seconds"))
}

impl Predict {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        self.check_engine()?;
        let mut report = self.report.start(self.format, &[])?;
        let stop = progress::stop_on_interrupt();
        let mut status = Status::Clean;
        let mut documents = Vec::new();
        for path in &self.traces {
            let trace = input::trace(path, self.options)?;
            let model = self.choose_model(path, &trace)?;
            let (prediction, interrupted) = self.predict(path, &trace, model, stop)?;
            let mut findings = document(path, &trace, model, &prediction, self.shard, self.stats);
            report.mark(&mut findings, Some(&trace));
            self.show(terminal, &mut report, &trace, &findings, &prediction)?;
            if self.strict && !findings.undecided.is_empty() {
                status = Status::Undecided;
            } else if any_shown(&findings) && status == Status::Clean {
                status = Status::Found;
            }
            documents.push(findings);
            if interrupted {
                complain("foretell: interrupted; what was found so far is above");
                break;
            }
        }
        if let Some(path) = self.json {
            Destination::new(Some(path)).write(terminal, |mut out| {
                documents.iter().try_for_each(|findings| findings.write(&mut out))
            })?;
        }
        report.finish(terminal)?;
        Ok(status)
    }

    /// That the engine can run, and that its options mean something.
    fn check_engine(&self) -> Result<(), Failure> {
        let engine = self.engine;
        engine.available().map_err(|message| Failure::Input(format!("foretell: {message}")))?;
        if engine.smt_solver().is_none() && (self.bit_blast || self.dump_smt.is_some()) {
            let message = "--bit-blast and --dump-smt are for --engine z3, cvc5 or yices";
            return Err(Failure::Input(format!("foretell: {message}")));
        }
        let of_dpor = self.context_bound.is_some() || self.node_budget.is_some();
        if engine != EngineKind::Dpor && of_dpor {
            let message = "--context-bound and --node-budget are for --engine dpor";
            return Err(Failure::Input(format!("foretell: {message}")));
        }
        if let Some(dir) = &self.dump_smt {
            std::fs::create_dir_all(dir).map_err(Failure::file(dir))?;
        }
        Ok(())
    }

    fn engine_options(&self) -> EngineOptions {
        let smt = SmtOptions {
            bit_blast: self.bit_blast,
            dump: self.dump_smt.clone(),
            ..SmtOptions::default()
        };
        let nodes = self.node_budget.unwrap_or(DporOptions::default().nodes);
        let dpor = DporOptions { context_bound: self.context_bound, nodes };
        EngineOptions { smt, dpor, simplify: !self.no_simplify }
    }

    fn choose_model(&self, path: &Path, trace: &Trace) -> Result<Model, Failure> {
        let model = match self.model {
            ModelChoice::Given(model) => model,
            ModelChoice::Auto => Model::auto(trace),
        };
        let without_values = [EngineKind::Dpor, EngineKind::Graph];
        if model == Model::Symbolic && without_values.contains(&self.engine) {
            let message = format!(
                "--engine {} does not know the symbolic model: use --engine order, z3, cvc5 or yices, \
                 or --model value or view",
                self.engine
            );
            return Err(Failure::input(path, message));
        }
        Ok(model)
    }

    fn predict(
        &self,
        path: &Path,
        trace: &Trace,
        model: Model,
        stop: &AtomicBool,
    ) -> Result<(Prediction, bool), Failure> {
        let progress = Progress::default();
        let mut options = Options {
            all: self.all,
            timeout: self.timeout,
            budget: self.budget,
            jobs: self.jobs.map_or(0, usize::from),
            engine: self.engine,
            engine_options: self.engine_options(),
            segments: !self.no_segments,
            stop: Some(stop),
            progress: Some(&progress),
            ..Options::default()
        };
        options.filters.static_check = !self.no_static_check;
        if !self.analyses.is_empty() {
            options.analyses = self.analyses.iter().copied().collect();
        }
        if let Some(shard) = self.shard {
            options.shard = (shard.index as usize - 1, shard.count as usize);
        }
        let result = progress::shown_while(&progress, || driver::predict(trace, model, &options));
        let interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
        let prediction = result.map_err(|defects| defective(path, &defects))?;
        Ok((prediction, interrupted))
    }

    fn show(
        &self,
        terminal: &mut Terminal,
        report: &mut Reporting,
        trace: &Trace,
        findings: &Findings,
        prediction: &Prediction,
    ) -> Result<(), Failure> {
        let text = self.format == Format::Text;
        if text && self.traces.len() > 1 {
            writeln!(terminal, "{}:", findings.trace.path)?;
        }
        report.publish(terminal, findings, Some(trace))?;
        if text {
            race_units(terminal, findings)?;
            if self.stats {
                stats::print(terminal, prediction, trace.len())?;
            }
        }
        Ok(())
    }
}

/// What to say when the checker refuses witnesses: nothing else may be said then.
pub(crate) fn defective(path: &Path, defects: &[Defect]) -> Failure {
    for defect in defects {
        complain(&format!("foretell: {}: defect: {defect}", path.display()));
    }
    Failure::Input(format!(
        "{}: the checker refused {} of Foretell's own witnesses: this is a defect of \
         Foretell, nothing was reported",
        path.display(),
        defects.len()
    ))
}

/// The findings file of a prediction.
pub(crate) fn document(
    path: &Path,
    trace: &Trace,
    model: Model,
    prediction: &Prediction,
    shard: Option<Shard>,
    stats: bool,
) -> Findings {
    let mut file = Findings::new(TraceInfo::new(path.display().to_string(), trace, model));
    file.shard = shard;
    for finding in &prediction.findings {
        let mut finding = json::finding(&finding.pattern, &finding.schedule, finding.engine, trace);
        if model == Model::Symbolic {
            finding.add_values(trace);
        }
        file.findings.push(finding);
    }
    let trace_model = (!prediction.undecided.is_empty()).then(|| TraceModel::new(trace, model));
    for (candidate, reason) in &prediction.undecided {
        let Some(trace_model) = &trace_model else { continue };
        file.undecided.push(undecided(trace_model, candidate, reason));
    }
    for (analysis, counts) in &prediction.counts {
        let columns = if stats { stats::columns(prediction, *analysis) } else { Vec::new() };
        file.summary.insert(*analysis, summary(counts, columns));
    }
    file.count_races();
    file.renumber();
    identity::assign(&mut file.findings, trace);
    file
}

fn summary(counts: &Counts, columns: Vec<(&'static str, u64)>) -> json::Counts {
    let extra = columns.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    json::Counts {
        candidates: counts.candidates,
        predicted: counts.predicted,
        undecided: counts.undecided,
        extra,
    }
}

fn race_units(terminal: &mut Terminal, findings: &Findings) -> std::io::Result<()> {
    let Some(counts) = findings.summary.get(&FindingKind::Race).filter(|c| c.predicted > 0) else {
        return Ok(());
    };
    let unit = |name: &str| counts.extra.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
    writeln!(
        terminal,
        "races shown: {} pairs of events, {} second events, {} pairs of places",
        unit("event_pairs"),
        unit("second_events"),
        unit("location_pairs")
    )
}

fn undecided(trace_model: &TraceModel<'_>, candidate: &Candidate, reason: &str) -> json::Undecided {
    let mut block = None;
    let events: Vec<EventId> = match candidate {
        Candidate::Race(a, b) => vec![*a, *b],
        Candidate::Atomicity(c, r, c2) => vec![*c, *r, *c2],
        Candidate::Serializability(b) | Candidate::Transactions(b) => {
            let b = trace_model.blocks.get(*b);
            block = Some(Block { begin: b.begin.0, end: b.end.map(|e| e.0) });
            Vec::new()
        }
        Candidate::NondeterministicRead(e) | Candidate::FinalValue(e) => vec![*e],
        Candidate::Deadlock(acquires) => acquires.clone(),
    };
    json::Undecided {
        kind: candidate.kind(),
        events: events.iter().map(|e| e.0).collect(),
        block,
        reason: reason.to_owned(),
        extra: Map::new(),
    }
}
