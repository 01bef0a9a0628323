//! `foretell predict`: bugs that other interleavings of a trace would show.

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
use crate::reporting::{Format, ReportOptions, Reporting};
use crate::terminal::{Terminal, complain};

/// Predict the bugs that other interleavings of a trace would show
///
/// Every finding comes with a schedule that the independent checker has accepted. Without a limit
/// the answer is exact: all findings that exist, and no others.
#[derive(clap::Args, Debug)]
pub(crate) struct Predict {
    /// Traces to analyse
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,

    #[command(flatten)]
    options: TraceOptions,

    /// Kinds of findings to look for [default: all]
    ///
    /// race, atomicity, serializability, transactions, nondeterminism, deadlock
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    analyses: Vec<FindingKind>,

    /// Feasible interleavings: auto, view, value, symbolic
    ///
    /// `auto` is the most permissive model that the trace supports.
    #[arg(long, default_value = "auto")]
    model: ModelChoice,

    /// Engine: auto, order, dpor, graph, z3, cvc5, yices
    ///
    /// `order` is the built-in solver, `dpor` an explicit search, `graph` uses choice graphs for
    /// nondeterminism and `order` for the rest, `auto` chooses one of these three for each query.
    /// z3, cvc5 and yices are external solvers.
    #[arg(long, default_value = "order")]
    engine: EngineKind,

    /// Format of standard output
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Write the findings as JSON too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Report every finding, not one for each group of source locations
    #[arg(long)]
    all: bool,

    /// Time limit of a query; a longer one counts as undecided
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// Time limit of the whole analysis
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    budget: Option<Duration>,

    /// Number of worker threads [default: all cores]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Decide only part I of N equal parts; `merge` combines them
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,

    /// Tell which findings only the order of code that is not recorded makes impossible
    ///
    /// A second prediction runs on the trace without hidden state. Its additional findings are
    /// listed in a section of their own, with the uses of hidden state whose order forbids them.
    /// They are no findings, and do not count for the exit status.
    #[arg(long, conflicts_with = "shard")]
    explain_order: bool,

    /// Exit with status 3 if a query stays undecided
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    report: ReportOptions,

    #[command(flatten)]
    experiments: Experiments,
}

/// Switches for the experiments of the papers. They change the effort, not the findings, unless a
/// bound is set.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Experiments")]
struct Experiments {
    /// Print the columns of the papers' tables: phases, verdicts, sizes and times
    #[arg(long, hide_short_help = true)]
    stats: bool,

    /// Search for serializability violations in the whole trace, not in the block's segment
    #[arg(long, hide_short_help = true)]
    no_segments: bool,

    /// Ask the engine about blocks that the static check proves serializable, too
    #[arg(long, hide_short_help = true)]
    no_static_check: bool,

    /// Symbolic model: neither fold constants nor slice guards and expressions
    #[arg(long, hide_short_help = true)]
    no_simplify: bool,

    /// dpor: limit of insignificant context switches; a "no" is then undecided ("bounded")
    #[arg(long, value_name = "N", hide_short_help = true)]
    context_bound: Option<u32>,

    /// dpor: limit of states for a query [default: 500000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    #[arg(hide_short_help = true)]
    node_budget: Option<u64>,

    /// External solvers: encode order variables as bit-vectors instead of integers
    #[arg(long, hide_short_help = true)]
    bit_blast: bool,

    /// External solvers: write every instance to this directory as SMT-LIB
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    dump_smt: Option<PathBuf>,
}

/// Model, or the most permissive one that the trace supports.
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
        .ok_or_else(|| format!("`{text}` is not a number of seconds"))
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
            } else if self.report.any_counts(&findings) && status == Status::Clean {
                status = Status::Found;
            }
            documents.push(findings);
            if interrupted {
                complain("foretell: interrupted; the findings so far are above");
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

    /// Checks that the engine can run, and that its options apply to it.
    fn check_engine(&self) -> Result<(), Failure> {
        let engine = self.engine;
        engine.available().map_err(|message| Failure::Input(format!("foretell: {message}")))?;
        if engine.smt_solver().is_none()
            && (self.experiments.bit_blast || self.experiments.dump_smt.is_some())
        {
            let message = "--bit-blast and --dump-smt are for --engine z3, cvc5 or yices";
            return Err(Failure::Input(format!("foretell: {message}")));
        }
        let of_dpor =
            self.experiments.context_bound.is_some() || self.experiments.node_budget.is_some();
        if engine != EngineKind::Dpor && of_dpor {
            let message = "--context-bound and --node-budget are for --engine dpor";
            return Err(Failure::Input(format!("foretell: {message}")));
        }
        if let Some(dir) = &self.experiments.dump_smt {
            std::fs::create_dir_all(dir).map_err(Failure::file(dir))?;
        }
        Ok(())
    }

    fn engine_options(&self) -> EngineOptions {
        let smt = SmtOptions {
            bit_blast: self.experiments.bit_blast,
            dump: self.experiments.dump_smt.clone(),
            ..SmtOptions::default()
        };
        let nodes = self.experiments.node_budget.unwrap_or(DporOptions::default().nodes);
        let dpor = DporOptions { context_bound: self.experiments.context_bound, nodes };
        EngineOptions { smt, dpor, simplify: !self.experiments.no_simplify }
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
            segments: !self.experiments.no_segments,
            stop: Some(stop),
            progress: Some(&progress),
            ..DriverOptions::default()
        };
        driver.filters.static_check = !self.experiments.no_static_check;
        if !self.analyses.is_empty() {
            driver.analyses = self.analyses.iter().copied().collect();
        }
        let model = match self.model {
            ModelChoice::Given(model) => Some(model),
            ModelChoice::Auto => None,
        };
        let options = PredictOptions {
            model,
            driver,
            shard: self.shard,
            stats: self.experiments.stats,
            explain_order: self.explain_order,
        };
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
            if self.experiments.stats {
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
        "races shown: {} pairs of events, {} second events, {} pairs of locations",
        unit("event_pairs"),
        unit("second_events"),
        unit("location_pairs")
    )
}
