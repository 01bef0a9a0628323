//! `foretell predict`: what other interleavings of a trace would show.

mod stats;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use foretell_predict::engines::dpor::DporOptions;
use foretell_predict::engines::smt::SmtOptions;
use foretell_predict::engines::{EngineKind, EngineOptions};
use foretell_report::json::{Findings, Shard};
use foretell_session::{DriverOptions, PredictOptions, Predicted, Prediction, Progress, predict};
use foretell_trace::{FindingKind, Model, Trace};

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
            let (Predicted { mut findings, prediction }, interrupted) =
                self.predict(path, &trace, stop)?;
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

    fn predict(
        &self,
        path: &Path,
        trace: &Trace,
        stop: &AtomicBool,
    ) -> Result<(Predicted, bool), Failure> {
        let progress = Progress::default();
        let mut driver = DriverOptions {
            all: self.all,
            timeout: self.timeout,
            budget: self.budget,
            jobs: self.jobs.map_or(0, usize::from),
            engine: self.engine,
            engine_options: self.engine_options(),
            segments: !self.no_segments,
            stop: Some(stop),
            progress: Some(&progress),
            ..DriverOptions::default()
        };
        driver.filters.static_check = !self.no_static_check;
        if !self.analyses.is_empty() {
            driver.analyses = self.analyses.iter().copied().collect();
        }
        let model = match self.model {
            ModelChoice::Given(model) => Some(model),
            ModelChoice::Auto => None,
        };
        let options = PredictOptions { model, driver, shard: self.shard, stats: self.stats };
        let result = progress::shown_while(&progress, || predict(path, trace, &options));
        let interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
        Ok((result?, interrupted))
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
