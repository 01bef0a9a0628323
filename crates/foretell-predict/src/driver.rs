//! The driver: from a trace to findings.
//!
//! Work is divided into groups of candidates, and groups into chunks of fixed size. A chunk has an
//! engine of its own and is worked through in order, so the outcome of each depends on nothing
//! else: findings and witnesses are the same whatever the number of threads or shards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foretell_model::{Segment, TraceModel};
use foretell_trace::{FindingKind, Model, Trace};
use foretell_verify::Checker;
use rayon::prelude::*;

use crate::analyses::Candidate;
pub use crate::counts::{Counts, Work};
use crate::engine::{Effort, Engine};
use crate::engines::order::OrderEngine;
use crate::engines::{EngineKind, EngineOptions};
use crate::filters::{Dropped, Filters};
use crate::finding::{Defect, Finding};
use crate::groups::{Batch, Group, groups};
use crate::query::{Limit, Verdict};
use crate::simplify::Symbolic;

/// Options of a prediction: the findings to look for, limits and engine.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Which analyses.
    pub analyses: BTreeSet<FindingKind>,
    /// Every finding, instead of one for each group of places in the source.
    pub all: bool,
    /// Time limit of one query.
    pub timeout: Option<Duration>,
    /// Time limit of the whole prediction.
    pub budget: Option<Duration>,
    /// Worker threads; 0 for as many as there are cores.
    pub jobs: usize,
    /// Part `.0` (from 0) of `.1` equal parts of the work.
    pub shard: (usize, usize),
    /// Which filters are on.
    pub filters: Filters,
    /// Whether a block's serializability is looked for only in its trace atomicity segment.
    pub segments: bool,
    /// Which engine decides what the filters leave.
    pub engine: EngineKind,
    /// The order engine searches for every witness, even where it could do without. The findings
    /// are the same.
    pub search_only: bool,
    /// Settings that only some engines have.
    pub engine_options: EngineOptions,
    /// Set from outside to stop early.
    pub stop: Option<&'a AtomicBool>,
    /// Counters to watch from outside.
    pub progress: Option<&'a Progress>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            analyses: FindingKind::ALL.into_iter().collect(),
            all: false,
            timeout: None,
            budget: None,
            jobs: 0,
            shard: (0, 1),
            filters: Filters::default(),
            segments: true,
            engine: EngineKind::default(),
            search_only: false,
            engine_options: EngineOptions::default(),
            stop: None,
            progress: None,
        }
    }
}

/// Counters of a prediction that is under way.
#[derive(Debug, Default)]
pub struct Progress {
    /// Groups of candidates in all.
    pub groups: AtomicU64,
    /// Groups that are done.
    pub done: AtomicU64,
    /// Findings so far.
    pub findings: AtomicU64,
}

/// Outcome of a prediction.
#[derive(Debug, Default)]
pub struct Prediction {
    /// The findings, in the order of their candidates.
    pub findings: Vec<Finding>,
    /// The candidates that a limit cut short, with the reason.
    pub undecided: Vec<(Candidate, String)>,
    /// The phases, counted, for each kind of finding that was asked for.
    pub counts: BTreeMap<FindingKind, Counts>,
    /// Work of deciding, for each kind of finding.
    pub work: BTreeMap<FindingKind, Work>,
    /// Effort of the engines.
    pub effort: Effort,
}

/// The number of chunks the work is cut into, as long as none gets too large.
const CHUNKS: usize = 64;
/// Number of chunks where each one starts a process that has to learn the whole trace.
const CHUNKS_FOR_PROCESSES: usize = 8;
/// Groups in a chunk at most: what an engine has learnt is worth less and less.
const LARGEST_CHUNK: usize = 256;

/// Predicts what a legal trace can show.
pub fn predict(
    trace: &Trace,
    model: Model,
    options: &Options<'_>,
) -> Result<Prediction, Vec<Defect>> {
    let trace_model = TraceModel { segmented: options.segments, ..TraceModel::new(trace, model) };
    let value_model =
        (model == Model::Symbolic && options.engine.smt_solver().is_none()).then(|| TraceModel {
            segmented: options.segments,
            ..TraceModel::new(trace, Model::Value)
        });
    let checker = Checker::new(trace, model);
    let mut work: Vec<Group> = Vec::new();
    for &kind in &options.analyses {
        work.extend(groups(&trace_model, kind, options.all));
    }
    let chunks = if options.engine.smt_solver().is_some() { CHUNKS_FOR_PROCESSES } else { CHUNKS };
    let size = work.len().div_ceil(chunks).clamp(1, LARGEST_CHUNK);
    let (part, parts) = options.shard;
    let chunks: Vec<&[Group]> = work.chunks(size).skip(part).step_by(parts.max(1)).collect();
    if let Some(progress) = options.progress {
        let groups = chunks.iter().map(|c| c.len() as u64).sum();
        progress.groups.store(groups, Ordering::Relaxed);
    }
    let run = PredictionRun {
        trace_model: &trace_model,
        values: Symbolic::of_model(&trace_model, options.engine_options.simplify),
        value_model: value_model.as_ref(),
        checker: &checker,
        options,
        deadline: options.budget.map(|b| Instant::now() + b),
        defects: Mutex::new(Vec::new()),
    };
    let parts = match options.jobs {
        1 => chunks.iter().map(|c| run.chunk(c)).collect(),
        jobs => in_parallel(jobs, || chunks.par_iter().map(|c| run.chunk(c)).collect()),
    };
    let defects = run.defects.into_inner().unwrap_or_default();
    if !defects.is_empty() {
        return Err(defects);
    }
    Ok(merge(options, parts))
}

fn in_parallel<T: Send>(jobs: usize, work: impl FnOnce() -> T + Send) -> T {
    match rayon::ThreadPoolBuilder::new().num_threads(jobs).build() {
        Ok(pool) => pool.install(work),
        // No thread could be had: do it on this one.
        Err(_) => work(),
    }
}

fn merge(options: &Options<'_>, parts: Vec<Prediction>) -> Prediction {
    let mut merged = Prediction::default();
    for &kind in &options.analyses {
        merged.counts.insert(kind, Counts::default());
    }
    for part in parts {
        merged.findings.extend(part.findings);
        merged.undecided.extend(part.undecided);
        merged.effort.add(&part.effort);
        for (kind, work) in part.work {
            merged.work.entry(kind).or_default().add(&work);
        }
        for (kind, counts) in part.counts {
            merged.counts.entry(kind).or_default().add(&counts);
        }
    }
    let kind = |c: &Candidate| c.kind();
    merged.findings.sort_by(|a, b| {
        (kind(&a.candidate), &a.candidate).cmp(&(kind(&b.candidate), &b.candidate))
    });
    merged.undecided.sort_by(|a, b| (kind(&a.0), &a.0).cmp(&(kind(&b.0), &b.0)));
    merged
}

struct PredictionRun<'a> {
    trace_model: &'a TraceModel<'a>,
    /// The values of the symbolic model, which all engines share.
    values: Option<Arc<Symbolic>>,
    /// The trace in the value model, where the model is the symbolic one.
    value_model: Option<&'a TraceModel<'a>>,
    checker: &'a Checker<'a>,
    options: &'a Options<'a>,
    deadline: Option<Instant>,
    defects: Mutex<Vec<Defect>>,
}

impl PredictionRun<'_> {
    fn chunk(&self, groups: &[Group]) -> Prediction {
        let mut engine: Box<dyn Engine + '_> = match self.options.engine {
            EngineKind::Order if self.options.search_only => {
                Box::new(OrderEngine::search_with_values(self.trace_model, self.values.clone()))
            }
            kind => {
                let options = &self.options.engine_options;
                kind.engine_with(self.trace_model, options, self.values.clone(), self.value_model)
            }
        };
        let mut prediction = Prediction::default();
        for group in groups {
            self.group(group, engine.as_mut(), &mut prediction);
            if let Some(progress) = self.options.progress {
                progress.done.fetch_add(1, Ordering::Relaxed);
            }
        }
        prediction.effort = engine.effort();
        prediction
    }

    /// Looks for one witness of a group.
    fn group(&self, group: &Group, engine: &mut dyn Engine, prediction: &mut Prediction) {
        let mut counts = Counts { candidates: group.size, groups: 1, ..Counts::default() };
        let filters = &self.options.filters;
        let keep = |c: &Candidate| {
            !matches!(filters.drop_class(self.trace_model, c), Some(Dropped::Lockset))
        };
        let mut undecided = None;
        let order = filters.must_happen_before.then_some(self.trace_model);
        for batch in group.candidates(keep, order) {
            let candidate = match batch {
                Batch::One(candidate) => candidate,
                Batch::Ordered(candidates) => {
                    counts.examined += candidates;
                    counts.drop(Dropped::Must, candidates);
                    continue;
                }
            };
            counts.examined += 1;
            counts.segment_events += self.segment_size(&candidate);
            if let Some(dropped) = filters.drop(self.trace_model, &candidate) {
                counts.drop(dropped, 1);
                continue;
            }
            counts.solved += 1;
            let (before, started) = (engine.effort(), Instant::now());
            let verdict = engine.decide(&candidate.query(), &self.limit());
            let work = Work::between(&before, &engine.effort(), started.elapsed());
            prediction.work.entry(group.kind).or_default().add(&work);
            match verdict {
                Verdict::Impossible => counts.impossible += 1,
                Verdict::Undecided(reason) => {
                    counts.cut_short(&reason);
                    undecided.get_or_insert((candidate, reason));
                    if self.over() {
                        break;
                    }
                }
                Verdict::Witness(schedule) => {
                    counts.predicted += 1;
                    self.found(&candidate, &schedule, engine.decided_by(), prediction);
                    undecided = None;
                    break;
                }
            }
        }
        if let Some(undecided) = undecided {
            counts.undecided += 1;
            prediction.undecided.push(undecided);
        }
        prediction.counts.entry(group.kind).or_default().add(&counts);
    }

    /// The size of the segment of a block that is asked about.
    fn segment_size(&self, candidate: &Candidate) -> u64 {
        match *candidate {
            Candidate::Serializability(block) if self.trace_model.segmented => {
                Segment::new(self.trace_model, block).size()
            }
            Candidate::Serializability(_) => self.trace_model.trace.len() as u64,
            _ => 0,
        }
    }

    fn found(
        &self,
        candidate: &Candidate,
        schedule: &[foretell_trace::EventId],
        engine: &'static str,
        prediction: &mut Prediction,
    ) {
        match Finding::new(self.trace_model, self.checker, candidate, schedule, engine) {
            Ok(finding) => {
                if let Some(progress) = self.options.progress {
                    progress.findings.fetch_add(1, Ordering::Relaxed);
                }
                prediction.findings.push(finding);
            }
            Err(defect) => {
                if let Ok(mut defects) = self.defects.lock() {
                    defects.push(defect);
                }
            }
        }
    }

    fn limit(&self) -> Limit<'_> {
        let query = self.options.timeout.map(|t| Instant::now() + t);
        let deadline = [query, self.deadline].into_iter().flatten().min();
        Limit { deadline, stop: self.options.stop }
    }

    /// Whether the whole run is to end.
    fn over(&self) -> bool {
        Limit { deadline: self.deadline, stop: self.options.stop }.reached().is_some()
    }
}
