//! `foretell predict`: bugs that other interleavings of a trace would show.

mod stats;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use foretell_limit::{Limit, Reason, apart, shielded, within};
use foretell_predict::engines::dpor::DporOptions;
use foretell_predict::engines::smt::SmtOptions;
use foretell_predict::engines::{EngineKind, EngineOptions};
use foretell_report::json::{Finding, Findings, Shard, TraceInfo};
use foretell_session::{
    DriverOptions, PredictOptions, Predicted, Prediction, Watch, predict_watched,
};
use foretell_trace::{FindingKind, Model, Trace, TraceBuilder};

use crate::failure::{Failure, Status};
use crate::input::{self, TraceOptions};
use crate::limits::{Budget, Outcome, message, seconds};
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
    /// race, atomicity, serializability, transactions, nondeterminism, deadlock,
    /// hang, lifetime
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

    #[command(flatten)]
    budget: Budget,

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

/// A trace and its findings.
struct Analysed {
    trace: Arc<Trace>,
    findings: Findings,
    prediction: Prediction,
}

/// The findings file of a trace that was not read to its end.
fn not_read(path: &Path, reason: Reason) -> Findings {
    let trace = TraceBuilder::new().build();
    let info = TraceInfo::new(path.display().to_string(), &trace, Model::View);
    let mut findings = Findings::new(info);
    findings.set_cut_short(reason.name());
    findings
}

fn and_others(traces: usize) -> String {
    match traces {
        0 | 1 => String::new(),
        2 => ", nor is the trace after it".to_owned(),
        n => format!(", nor are the {} traces after it", n - 1),
    }
}

/// Most threads of an analysis: more than that, and starting them takes longer than their work.
const MOST_JOBS: u16 = 256;

impl Predict {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<Status, Failure> {
        self.check_engine()?;
        let mut report = self.report.start(self.format, &[])?;
        let limit = self.budget.start();
        let mut outcome = Outcome::default();
        let mut undecided = false;
        let mut documents = Vec::new();
        for (done, path) in self.traces.iter().enumerate() {
            let show = Show {
                predict: &self,
                terminal,
                report: &mut report,
                path,
                has_head: false,
                written: Ok(()),
            };
            let Analysed { trace, findings, prediction } = match show.analyse(&limit) {
                Ok(analysed) => analysed?,
                Err(reason) => {
                    complain(message(reason));
                    let left = self.traces.len() - done;
                    complain(&format!("{}: not analysed{}", path.display(), and_others(left)));
                    outcome.set_cut_short();
                    documents.push(not_read(path, reason));
                    break;
                }
            };
            shielded(|| self.conclude(terminal, &mut report, &trace, &findings, &prediction))?;
            undecided |= !findings.undecided.is_empty();
            outcome.add(&self.report.counting, &findings);
            documents.push(findings);
            if let Some(reason) = prediction.cut_short {
                terminal.flush()?;
                complain(&format!("{}; the findings so far are above", message(reason)));
            }
        }
        if let Some(path) = self.json {
            Destination::new(Some(path)).write(terminal, |mut out| {
                documents.iter().try_for_each(|findings| findings.write(&mut out))
            })?;
        }
        report.finish(terminal)?;
        Ok(if self.strict && undecided { Status::CutShort } else { outcome.status() })
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
        trace: &Arc<Trace>,
        watch: &mut dyn Watch,
    ) -> Result<Predicted, Failure> {
        let mut driver = DriverOptions {
            all: self.all,
            timeout: self.timeout,
            jobs: self.jobs.map_or(0, |jobs| usize::from(jobs.min(MOST_JOBS))),
            engine: self.engine,
            engine_options: self.engine_options(),
            segments: !self.experiments.no_segments,
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
        Ok(progress::shown_while(trace, |progress| {
            let mut options = options.clone();
            options.driver.progress = Some(progress);
            predict_watched(path, trace, &options, watch)
        })?)
    }

    /// Shows what comes after the findings of a trace.
    fn conclude(
        &self,
        terminal: &mut Terminal,
        report: &mut Reporting,
        trace: &Trace,
        findings: &Findings,
        prediction: &Prediction,
    ) -> Result<(), Failure> {
        let text = self.format == Format::Text;
        if findings.findings.is_empty() {
            self.head(terminal, Path::new(&findings.trace.path))?;
        }
        report.conclude(terminal, findings, trace)?;
        if text {
            race_units(terminal, findings)?;
            if self.experiments.stats {
                stats::print(terminal, prediction, trace.len())?;
            }
        }
        terminal.flush()?;
        Ok(())
    }

    /// Names the trace, if there are several.
    fn head(&self, terminal: &mut Terminal, path: &Path) -> std::io::Result<()> {
        if self.format == Format::Text && self.traces.len() > 1 {
            writeln!(terminal, "{}:", path.display())?;
        }
        Ok(())
    }
}

/// Shows the findings of a trace as they are decided.
struct Show<'a> {
    predict: &'a Predict,
    terminal: &'a mut Terminal,
    report: &'a mut Reporting,
    path: &'a Path,
    /// Whether the trace has been named.
    has_head: bool,
    /// Whether all could be written so far.
    written: std::io::Result<()>,
}

impl Show<'_> {
    /// Reads and analyses the trace.
    ///
    /// The outer error is the limit that was reached while the trace was read.
    fn analyse(mut self, limit: &Limit<'_>) -> Result<Result<Analysed, Failure>, Reason> {
        if let Some(reason) = limit.reached() {
            return Err(reason);
        }
        let (path, options) = (self.path.to_path_buf(), self.predict.options);
        let trace = match apart(limit, move || input::trace(&path, options), || {})? {
            Ok(trace) => Arc::new(trace),
            Err(failure) => return Ok(Err(failure)),
        };
        within(limit, || {
            let (path, predict) = (self.path, self.predict);
            let Predicted { findings, prediction } = predict.predict(path, &trace, &mut self)?;
            self.written?;
            Ok(Analysed { trace, findings, prediction })
        })
    }

    fn write(&mut self, trace: &Trace, model: Model, findings: &[Finding]) -> std::io::Result<()> {
        if !std::mem::replace(&mut self.has_head, true) {
            self.predict.head(self.terminal, self.path)?;
        }
        self.report.show(self.terminal, (trace, model), self.path, findings)
    }
}

impl Watch for Show<'_> {
    fn decided(&mut self, trace: &Trace, model: Model, findings: &mut [Finding]) {
        shielded(|| {
            self.report.mark(findings, Some(trace));
            progress::clear();
            if self.written.is_ok() {
                self.written = self.write(trace, model, findings);
            }
        });
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
