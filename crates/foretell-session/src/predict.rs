//! Prediction on a trace, and its findings document.

use std::path::Path;

use foretell_model::TraceModel;
use foretell_predict::analyses::Candidate;
use foretell_predict::driver::{self, Counts, Options, Prediction};
use foretell_predict::engines::EngineKind;
use foretell_report::identity;
use foretell_report::json::{self, Block, Findings, Shard, TraceInfo};
use foretell_report::kept_by_order::KeptByOrder;
use foretell_report::witness::add_values;
use foretell_trace::{EventId, Model, Trace};
use serde_json::Map;

use crate::{Error, columns, kept_by_order};

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
    /// Whether the document's summary has the phase counters ([`columns`]).
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
/// If the engine does not support the model, or a witness is refused by the checker: a defect of
/// Foretell.
pub fn predict(
    path: &Path,
    trace: &Trace,
    options: &PredictOptions<'_>,
) -> Result<Predicted, Error> {
    let model = options.model.unwrap_or_else(|| Model::auto(trace));
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
    let prediction = driver::predict(trace, model, &driver)
        .map_err(|defects| Error::Defects { trace: path.to_path_buf(), defects })?;
    let mut findings = document(path, trace, model, &prediction, options);
    if options.explain_order {
        let entries = kept_by_order::entries(trace, model, options, &findings)
            .map_err(|defects| Error::Defects { trace: path.to_path_buf(), defects })?;
        KeptByOrder::store(&entries, &mut findings);
    }
    Ok(Predicted { findings, prediction })
}

/// The findings document of a prediction.
fn document(
    path: &Path,
    trace: &Trace,
    model: Model,
    prediction: &Prediction,
    options: &PredictOptions<'_>,
) -> Findings {
    let mut file = Findings::new(TraceInfo::new(path.display().to_string(), trace, model));
    file.shard = options.shard;
    for finding in &prediction.findings {
        let mut finding = json::finding(&finding.pattern, &finding.schedule, finding.engine, trace);
        if model == Model::Symbolic {
            add_values(&mut finding, trace);
        }
        file.findings.push(finding);
    }
    let trace_model = (!prediction.undecided.is_empty()).then(|| TraceModel::new(trace, model));
    for (candidate, reason) in &prediction.undecided {
        let Some(trace_model) = &trace_model else { continue };
        file.undecided.push(undecided(trace_model, candidate, reason));
    }
    for (analysis, counts) in &prediction.counts {
        let columns =
            if options.stats { columns::columns(prediction, *analysis) } else { Vec::new() };
        file.summary.insert(*analysis, summary(counts, columns));
    }
    file.count_races();
    file.renumber();
    identity::assign(&mut file.findings, trace);
    file
}

fn summary(counts: &Counts, columns: Vec<columns::Column>) -> json::Counts {
    let extra = columns.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    json::Counts {
        candidates: counts.candidates,
        predicted: counts.predicted,
        undecided: counts.undecided,
        extra,
    }
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
