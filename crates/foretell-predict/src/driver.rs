//! The driver: from a trace to findings.
//!
//! The analyses are done one after the other, cheap ones first. The work of each is divided into
//! groups of candidates, and groups into chunks of fixed size. A chunk has an engine of its own and
//! is worked through in order, so the outcome of each depends on nothing else: findings and
//! witnesses are the same whatever the number of threads or shards.
//!
//! Everything runs within the limits of the run (`foretell_limit`): model, candidates, filters,
//! engines and witnesses. Groups that the run did not get to are counted as skipped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use foretell_limit::{Reason, within};
use foretell_model::{Segment, TraceModel};
use foretell_trace::{EventId, FindingKind, Model, Trace};
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
use crate::stuck::next_events;

/// Options of a prediction: the findings to look for, limits and engine.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Which analyses.
    pub analyses: BTreeSet<FindingKind>,
    /// Whether the race analysis looks for races that memory orders leave open (section 3b) too.
    pub unordered: bool,
    /// Every finding, instead of one for each group of places in the source.
    pub all: bool,
    /// Time limit of one query.
    pub timeout: Option<Duration>,
    /// Time limit of the whole prediction. A deadline of the caller ([`foretell_limit::within`])
    /// holds too.
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

impl Options<'_> {
    /// Returns these options without the references of the caller, for another thread.
    pub fn detached(&self) -> Options<'static> {
        Options {
            analyses: self.analyses.clone(),
            unordered: self.unordered,
            all: self.all,
            timeout: self.timeout,
            budget: self.budget,
            jobs: self.jobs,
            shard: self.shard,
            filters: self.filters,
            segments: self.segments,
            engine: self.engine,
            search_only: self.search_only,
            engine_options: self.engine_options.clone(),
            stop: None,
            progress: None,
        }
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            analyses: FindingKind::ANALYSES.into_iter().collect(),
            unordered: true,
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
    /// Findings that the watcher has not taken yet; `None` if it wants none.
    pub found: Mutex<Option<Vec<Finding>>>,
}

impl Progress {
    /// Returns counters for a watcher that wants the findings as they come.
    pub fn with_findings() -> Self {
        Progress { found: Mutex::new(Some(Vec::new())), ..Progress::default() }
    }

    /// Returns the findings since the last call.
    pub fn take_found(&self) -> Vec<Finding> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes over the counters of the same prediction, and findings that are new.
    pub fn follow(&self, other: &Progress, new: &[Finding]) {
        let counters = [
            (&self.groups, &other.groups),
            (&self.done, &other.done),
            (&self.findings, &other.findings),
        ];
        for (ours, theirs) in counters {
            ours.store(theirs.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = found.as_mut() {
            found.extend_from_slice(new);
        }
    }

    fn add_finding(&self, finding: &Finding) {
        self.findings.fetch_add(1, Ordering::Relaxed);
        // The watcher must get at the findings when memory has run out, too.
        foretell_limit::shielded(|| {
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(found) = found.as_mut() {
                found.push(finding.clone());
            }
        });
    }
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
    /// Reason why some groups were skipped, or some candidates not even listed; `counts` says of
    /// which kinds.
    pub cut_short: Option<Reason>,
}

/// The number of chunks the work is cut into, as long as none gets too large.
const CHUNKS: usize = 64;
/// Number of chunks where each one starts a process that has to learn the whole trace.
const CHUNKS_FOR_PROCESSES: usize = 8;
/// Groups in a chunk at most: what an engine has learnt is worth less and less.
const LARGEST_CHUNK: usize = 256;

/// Stack of a worker: the search for circles of locks recurses once for each thread of the trace.
const STACK: usize = 64 << 20;
/// Memory that one query may have, however little is left.
const LEAST_QUERY_MEMORY: u64 = 16 << 20;

/// Predicts what a legal trace can show.
///
/// # Errors
/// The witnesses that the checker refused: defects.
pub fn predict(
    trace: &Trace,
    model: Model,
    options: &Options<'_>,
) -> Result<Prediction, Vec<Defect>> {
    let whole = Mutex::new(Prediction::empty(options));
    predict_each(trace, model, options, &|_, part| {
        whole.lock().unwrap_or_else(PoisonError::into_inner).add(part);
    })?;
    let mut whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    whole.sort();
    Ok(whole)
}

/// [`predict`], which hands over the part of each kind of finding as soon as it is complete, or cut
/// short: cheap analyses first.
///
/// # Errors
/// The witnesses that the checker refused: defects.
pub fn predict_each(
    trace: &Trace,
    model: Model,
    options: &Options<'_>,
    deliver: &(dyn Fn(FindingKind, Prediction) + Sync),
) -> Result<(), Vec<Defect>> {
    if options.analyses.is_empty() {
        return Ok(());
    }
    let own = options.budget.map(|budget| Instant::now() + budget);
    let deadline = [own, foretell_limit::deadline()].into_iter().flatten().min();
    let limit = foretell_limit::Limit { deadline, stop: options.stop, memory: None };
    let new_model = |model| TraceModel::new(trace, model).with_segments(options.segments);
    let with_value_model = model == Model::Symbolic && options.engine.smt_solver().is_none();
    let built = within(&limit, || {
        let trace_model = new_model(model);
        let values = Symbolic::of_model(&trace_model, options.engine_options.simplify);
        let value_model = with_value_model.then(|| new_model(Model::Value));
        (trace_model, values, value_model, Checker::new(trace, model))
    });
    let (trace_model, values, value_model, checker) = match built {
        Ok(built) => built,
        Err(reason) => {
            for kind in cheap_first(options) {
                deliver(kind, Prediction::not_begun(kind, reason));
            }
            return Ok(());
        }
    };
    let run = PredictionRun {
        trace_model: &trace_model,
        values,
        value_model: value_model.as_ref(),
        checker: &checker,
        options,
        limit,
        query_memory: query_memory(options.jobs),
        defects: Mutex::new(Vec::new()),
    };
    match options.jobs {
        1 => run.all(deliver, |chunks, work| chunks.iter().map(|chunk| work(chunk)).collect()),
        jobs => in_parallel(jobs, || {
            run.all(deliver, |chunks, work| chunks.par_iter().map(|chunk| work(chunk)).collect());
        }),
    }
    let defects = run.defects.into_inner().unwrap_or_default();
    if defects.is_empty() { Ok(()) } else { Err(defects) }
}

/// The analyses that were asked for, those that are cheap for most traces first.
fn cheap_first(options: &Options<'_>) -> Vec<FindingKind> {
    let mut kinds: Vec<FindingKind> = options.analyses.iter().copied().collect();
    kinds.sort_by_key(|kind| match kind {
        FindingKind::Race | FindingKind::Deadlock | FindingKind::Lifetime => 0,
        FindingKind::Hang => 1,
        FindingKind::Atomicity => 1,
        FindingKind::Serializability => 3,
        FindingKind::Transactions => 4,
        _ => 2,
    });
    kinds
}

/// Memory for each of the queries that are decided at the same time.
fn query_memory(jobs: usize) -> Option<u64> {
    let left = foretell_limit::memory_limit()?.saturating_sub(foretell_limit::in_use());
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = if jobs == 0 { cores() } else { jobs };
    Some((left / jobs as u64).max(LEAST_QUERY_MEMORY))
}

fn in_parallel<T: Send>(jobs: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).stack_size(STACK);
    match pool.build() {
        Ok(pool) => pool.install(work),
        // No thread could be had: do it on this one.
        Err(_) => work(),
    }
}

impl Prediction {
    /// Returns a prediction that found nothing yet.
    pub fn empty(options: &Options<'_>) -> Self {
        let counts = options.analyses.iter().map(|&kind| (kind, Counts::default())).collect();
        Prediction { counts, ..Prediction::default() }
    }

    /// Returns the part of a kind that ended before there were candidates.
    pub fn not_begun(kind: FindingKind, reason: Reason) -> Self {
        let mut prediction = Prediction::default();
        prediction.not_listed(kind, reason);
        prediction
    }

    /// Returns the part of a kind that was left behind after these findings.
    pub fn left_behind(kind: FindingKind, findings: Vec<Finding>, reason: Reason) -> Self {
        let mut prediction = Prediction::not_begun(kind, reason);
        let counts = prediction.counts.entry(kind).or_default();
        counts.predicted = findings.len() as u64;
        counts.candidates = counts.predicted;
        prediction.findings = findings;
        prediction.sort();
        prediction
    }

    /// Notes that the candidates of a kind were not all listed.
    fn not_listed(&mut self, kind: FindingKind, reason: Reason) {
        self.counts.entry(kind).or_default().unlisted = true;
        self.cut_short.get_or_insert(reason);
    }

    /// Notes that a group was not looked at.
    fn skip(&mut self, group: &Group, reason: Reason) {
        let counts = Counts { candidates: group.size, groups: 1, skipped: 1, ..Counts::default() };
        self.counts.entry(group.kind).or_default().add(&counts);
        self.cut_short.get_or_insert(reason);
    }

    /// Adds a part of the work.
    pub fn add(&mut self, part: Prediction) {
        self.findings.extend(part.findings);
        self.undecided.extend(part.undecided);
        self.effort.add(&part.effort);
        self.cut_short = self.cut_short.or(part.cut_short);
        for (kind, work) in part.work {
            self.work.entry(kind).or_default().add(&work);
        }
        for (kind, counts) in part.counts {
            self.counts.entry(kind).or_default().add(&counts);
        }
    }

    /// Puts findings and undecided queries in the order of their candidates.
    fn sort(&mut self) {
        let kind = |c: &Candidate| c.kind();
        self.findings.sort_by(|a, b| {
            (kind(&a.candidate), &a.candidate).cmp(&(kind(&b.candidate), &b.candidate))
        });
        self.undecided.sort_by(|a, b| (kind(&a.0), &a.0).cmp(&(kind(&b.0), &b.0)));
    }
}

struct PredictionRun<'a> {
    trace_model: &'a TraceModel<'a>,
    /// The values of the symbolic model, which all engines share.
    values: Option<Arc<Symbolic>>,
    /// The trace in the value model, where the model is the symbolic one.
    value_model: Option<&'a TraceModel<'a>>,
    checker: &'a Checker<'a>,
    options: &'a Options<'a>,
    limit: foretell_limit::Limit<'a>,
    /// Memory for one query, if memory is limited.
    query_memory: Option<u64>,
    defects: Mutex<Vec<Defect>>,
}

/// An engine of a chunk, as soon as a query needs one.
type LazyEngine<'e> = Option<Box<dyn Engine + 'e>>;

impl PredictionRun<'_> {
    /// Does all analyses. `each` does the work on the chunks, in whatever order.
    fn all(
        &self,
        deliver: &(dyn Fn(FindingKind, Prediction) + Sync),
        each: impl Fn(&[&[Group]], &(dyn Fn(&[Group]) -> Prediction + Sync)) -> Vec<Prediction>,
    ) {
        let (part, parts) = self.options.shard;
        let most = match self.options.engine.smt_solver() {
            Some(_) => CHUNKS_FOR_PROCESSES,
            None => CHUNKS,
        };
        let mut chunks_before = 0;
        for kind in cheap_first(self.options) {
            let groups = match self.limit.reached() {
                Some(reason) => Err(reason),
                None => within(&self.limit, || {
                    let Options { all, unordered, filters, .. } = self.options;
                    groups(self.trace_model, kind, (*all, *unordered), filters)
                }),
            };
            let groups = match groups {
                Ok(groups) => groups,
                Err(reason) => {
                    deliver(kind, Prediction::not_begun(kind, reason));
                    continue;
                }
            };
            let size = groups.len().div_ceil(most).clamp(1, LARGEST_CHUNK);
            let mut chunks: Vec<&[Group]> = groups.chunks(size).collect();
            // Parts go on counting from one kind to the next, so that they are equal.
            let skipped = (part + parts.max(1) - chunks_before % parts.max(1)) % parts.max(1);
            chunks_before += chunks.len();
            chunks = chunks.into_iter().skip(skipped).step_by(parts.max(1)).collect();
            if let Some(progress) = self.options.progress {
                let groups =
                    chunks.iter().copied().flatten().filter(|g| !g.is_dropped()).count() as u64;
                progress.groups.fetch_add(groups, Ordering::Relaxed);
            }
            let mut merged = Prediction::default();
            for part in each(&chunks, &|chunk| self.chunk(chunk)) {
                merged.add(part);
            }
            merged.sort();
            deliver(kind, merged);
        }
    }

    fn new_engine(&self) -> Box<dyn Engine + '_> {
        match self.options.engine {
            EngineKind::Order if self.options.search_only => {
                Box::new(OrderEngine::search_with_values(self.trace_model, self.values.clone()))
            }
            kind => {
                let options = &self.options.engine_options;
                kind.engine_with(self.trace_model, options, self.values.clone(), self.value_model)
            }
        }
    }

    fn chunk(&self, groups: &[Group]) -> Prediction {
        let mut engine: LazyEngine<'_> = None;
        let mut prediction = Prediction::default();
        for group in groups {
            let outcome = match self.limit.reached() {
                Some(reason) => Err(reason),
                None => within(&self.limit, || self.group(group, &mut engine, &mut prediction)),
            };
            if let Err(reason) = outcome {
                // It may have been in the middle of a query.
                drop_engine(&mut engine, &mut prediction);
                prediction.skip(group, reason);
            }
            if let Some(progress) = self.options.progress
                && !group.is_dropped()
            {
                progress.done.fetch_add(1, Ordering::Relaxed);
            }
        }
        drop_engine(&mut engine, &mut prediction);
        prediction
    }

    /// Looks for one witness of a group.
    fn group<'e>(
        &'e self,
        group: &Group,
        engine: &mut LazyEngine<'e>,
        prediction: &mut Prediction,
    ) {
        let groups = u64::from(!group.is_dropped());
        let mut counts = Counts { candidates: group.size, groups, ..Counts::default() };
        let filters = &self.options.filters;
        let keep = |c: &Candidate| {
            !matches!(filters.drop_class(self.trace_model, c), Some(Dropped::Lockset))
        };
        let mut undecided = None;
        for batch in group.candidates(keep, self.trace_model, filters.must_happen_before) {
            foretell_limit::check();
            let candidate = match batch {
                Batch::One(candidate) => candidate,
                Batch::Dropped(by, candidates) => {
                    counts.examined += candidates;
                    counts.drop(by, candidates);
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
            let verdict = self.decide(&candidate, engine, prediction);
            match verdict {
                Verdict::Impossible => counts.impossible += 1,
                Verdict::Undecided(reason) => {
                    counts.cut_short(&reason);
                    undecided.get_or_insert((candidate, reason));
                    if self.limit.reached().is_some() {
                        break;
                    }
                }
                Verdict::Witness(schedule) => {
                    counts.predicted += 1;
                    let by = engine.as_ref().map_or("", |engine| engine.decided_by());
                    self.found(&candidate, &schedule, by, prediction);
                    undecided = None;
                    if let (Candidate::Hang(root, _), true) = (&candidate, self.options.all) {
                        let first = next_events(self.trace_model, &schedule);
                        undecided =
                            self.further_hangs(*root, first, engine, prediction, &mut counts);
                    }
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

    /// Looks for all hangs with this root but the first, one after the other. Returns the candidate
    /// that was left open, if one was.
    fn further_hangs<'e>(
        &'e self,
        root: EventId,
        first: Vec<EventId>,
        engine: &mut LazyEngine<'e>,
        prediction: &mut Prediction,
        counts: &mut Counts,
    ) -> Option<(Candidate, String)> {
        let mut known = vec![first];
        loop {
            let candidate = Candidate::Hang(root, known.clone());
            counts.candidates += 1;
            counts.examined += 1;
            counts.solved += 1;
            match self.decide(&candidate, engine, prediction) {
                Verdict::Impossible => {
                    counts.impossible += 1;
                    return None;
                }
                Verdict::Undecided(reason) => {
                    counts.cut_short(&reason);
                    return Some((candidate, reason));
                }
                Verdict::Witness(schedule) => {
                    counts.predicted += 1;
                    let by = engine.as_ref().map_or("", |engine| engine.decided_by());
                    self.found(&candidate, &schedule, by, prediction);
                    known.push(next_events(self.trace_model, &schedule));
                }
            }
        }
    }

    /// Puts a candidate to the engine, within the limits of a query.
    fn decide<'e>(
        &'e self,
        candidate: &Candidate,
        engine: &mut LazyEngine<'e>,
        prediction: &mut Prediction,
    ) -> Verdict {
        let limit = self.query_limit();
        let outcome = within(&limit, || {
            let engine = engine.get_or_insert_with(|| self.new_engine());
            let (before, started) = (engine.effort(), Instant::now());
            let limit = Limit { deadline: limit.deadline, stop: limit.stop };
            let verdict = engine.decide(&candidate.query(), &limit);
            (verdict, Work::between(&before, &engine.effort(), started.elapsed()))
        });
        match outcome {
            Ok((verdict, work)) => {
                prediction.work.entry(candidate.kind()).or_default().add(&work);
                verdict
            }
            Err(reason) => {
                // It was in the middle of the query.
                drop_engine(engine, prediction);
                Verdict::Undecided(reason.name().to_owned())
            }
        }
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
        schedule: &[EventId],
        engine: &'static str,
        prediction: &mut Prediction,
    ) {
        match Finding::new(self.trace_model, self.checker, candidate, schedule, engine) {
            Ok(finding) => {
                if let Some(progress) = self.options.progress {
                    progress.add_finding(&finding);
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

    fn query_limit(&self) -> foretell_limit::Limit<'_> {
        let query = self.options.timeout.map(|t| Instant::now() + t);
        let deadline = [query, self.limit.deadline].into_iter().flatten().min();
        foretell_limit::Limit { deadline, stop: self.limit.stop, memory: self.query_memory }
    }
}

/// Drops an engine, and keeps the count of its effort.
fn drop_engine(engine: &mut LazyEngine<'_>, prediction: &mut Prediction) {
    if let Some(engine) = engine.take() {
        prediction.effort.add(&engine.effort());
    }
}
