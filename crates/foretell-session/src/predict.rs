//! Prediction on a trace: at once, or with its findings as they come.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};

use foretell_limit::{Limit, Reason, apart, deadline, shielded, within};
use foretell_predict::driver::{self, Options, Prediction, Progress};
use foretell_predict::engines::EngineKind;
use foretell_predict::finding::Defect;
use foretell_report::json::{Findings, Shard};
use foretell_report::kept_by_order::KeptByOrder;
use foretell_trace::{Model, Trace};

use crate::document::{Document, Watch};
use crate::{Error, kept_by_order};

/// Options of a prediction.
#[derive(Clone, Default, Debug)]
pub struct PredictOptions<'a> {
    /// Model of what else could have happened; `None` is the most permissive one that the trace
    /// supports.
    pub model: Option<Model>,
    /// Options of the driver: analyses, engine, limits, workers. `shard` below replaces its part
    /// of the work.
    pub driver: Options<'a>,
    /// Part of the queries to decide; `None` is all of them.
    pub shard: Option<Shard>,
    /// Whether the document's summary has the phase counters ([`columns`](crate::columns)).
    pub stats: bool,
    /// Whether the document has the findings that only kept order makes impossible
    /// ([`KeptByOrder`]). They are looked for with the whole trace, whatever `shard` is.
    pub explain_order: bool,
}

/// Outcome of a prediction.
#[derive(Debug)]
pub struct Predicted {
    /// The findings document.
    pub findings: Findings,
    /// Counters and times beyond the document.
    pub prediction: Prediction,
}

/// Predicts what other interleavings of a legal trace would show, and makes the findings document
/// of it. `path` is the name of the trace in the document and in errors; it is not read.
///
/// Every witness of the document has been accepted by the independent checker.
///
/// # Errors
/// If the trace or the engine does not support the model, or a witness is refused by the checker: a
/// defect of Foretell.
pub fn predict(
    path: &Path,
    trace: &Trace,
    options: &PredictOptions<'_>,
) -> Result<Predicted, Error> {
    let Job { model, driver } = Job::new(path, trace, options)?;
    let parts = Mutex::new(Vec::new());
    driver::predict_each(trace, model, &driver, &|kind, part| {
        parts.lock().unwrap_or_else(PoisonError::into_inner).push((kind, part));
    })
    .map_err(refused(path))?;
    let mut document = Document::new(path, trace, model, options, &mut ());
    for (kind, part) in parts.into_inner().unwrap_or_else(PoisonError::into_inner) {
        document.add(kind, part, &mut ());
    }
    let mut predicted = document.finish();
    if options.explain_order {
        let limit = Limit { deadline: deadline(), stop: options.driver.stop, memory: None };
        let entries =
            within(&limit, || kept_by_order::entries(trace, model, options, &predicted.findings));
        store(entries, path, &mut predicted.findings)?;
    }
    Ok(predicted)
}

/// [`predict`], with the findings as they are decided, and within the limits of the caller
/// ([`foretell_limit`]) whatever happens: work that does not end in time, or needs more memory than
/// there is, is left behind on a thread of its own, and the document has what was decided before.
///
/// # Errors
/// As [`predict`].
pub fn predict_watched(
    path: &Path,
    trace: &Arc<Trace>,
    options: &PredictOptions<'_>,
    watch: &mut dyn Watch,
) -> Result<Predicted, Error> {
    let Job { model, driver } = Job::new(path, trace, options)?;
    let limit = Limit { deadline: deadline(), stop: options.driver.stop, memory: None };
    let shared = Arc::new((Progress::with_findings(), AtomicBool::new(false)));
    let (sender, receiver) = channel();
    let mut document = Document::new(path, trace, model, options, watch);
    let work = {
        let (trace, shared, driver) = (Arc::clone(trace), Arc::clone(&shared), driver.detached());
        move || {
            let (progress, stop) = (Some(&shared.0), Some(&shared.1));
            let options = Options { progress, stop, ..driver };
            driver::predict_each(&trace, model, &options, &|kind, part| {
                let _ = sender.send((kind, part));
            })
        }
    };
    // Findings of the analyses that are not complete.
    let mut found = Vec::new();
    let mut follow = |document: &mut Document<'_>| {
        if driver.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            shared.1.store(true, Ordering::Relaxed);
        }
        let new = shared.0.take_found();
        if let Some(progress) = driver.progress {
            progress.follow(&shared.0, &new);
        }
        found.extend(new);
        for (kind, part) in receiver.try_iter() {
            document.add(kind, part, watch);
        }
        found.retain(|finding| !document.has(finding.candidate.kind()));
    };
    // Without analyses there is nothing to wait for: most runs of an exploration have none.
    let outcome = match options.driver.analyses.is_empty() {
        true => Ok(Ok(())),
        false => apart(&limit, work, || follow(&mut document)),
    };
    follow(&mut document);
    match outcome {
        Ok(outcome) => outcome.map_err(refused(path))?,
        Err(reason) => document.leave_behind(found, reason, watch),
    }
    let mut predicted = document.finish();
    if options.explain_order {
        let found = Arc::new(predicted.findings.clone());
        let (trace, found) = (Arc::clone(trace), Arc::clone(&found));
        let options = PredictOptions { driver: driver.detached(), ..*options };
        let work = move || kept_by_order::entries(&trace, model, &options, &found);
        let entries = match limit.reached() {
            Some(reason) => Err(reason),
            None => apart(&limit, work, || {}),
        };
        store(entries, path, &mut predicted.findings)?;
    }
    Ok(predicted)
}

/// A prediction that can be done.
struct Job<'a> {
    model: Model,
    driver: Options<'a>,
}

impl<'a> Job<'a> {
    fn new(path: &Path, trace: &Trace, options: &PredictOptions<'a>) -> Result<Self, Error> {
        let model = options.model.unwrap_or_else(|| shielded(|| Model::auto(trace)));
        if model == Model::Symbolic && shielded(|| Model::auto(trace)) != Model::Symbolic {
            return Err(Error::NotSymbolic { trace: path.to_path_buf() });
        }
        let engine = options.driver.engine;
        if model == Model::Symbolic && [EngineKind::Dpor, EngineKind::Graph].contains(&engine) {
            let message = format!(
                "--engine {engine} does not support the symbolic model: use --engine order, z3, cvc5 or \
                 yices, or --model value or view",
            );
            return Err(Error::Engine { trace: path.to_path_buf(), message });
        }
        let mut driver = options.driver.clone();
        if let Some(shard) = options.shard {
            driver.shard = (shard.index as usize - 1, shard.count as usize);
        }
        Ok(Job { model, driver })
    }
}

fn refused(path: &Path) -> impl FnOnce(Vec<Defect>) -> Error {
    |defects| Error::Defects { trace: path.to_path_buf(), defects }
}

/// Stores the findings that only kept order makes impossible, or why they are not all known.
fn store(
    entries: Result<Result<Vec<KeptByOrder>, Vec<Defect>>, Reason>,
    path: &Path,
    findings: &mut Findings,
) -> Result<(), Error> {
    match entries {
        Ok(entries) => KeptByOrder::store(&entries.map_err(refused(path))?, findings),
        Err(reason) => findings.set_cut_short(reason.name()),
    }
    Ok(())
}
