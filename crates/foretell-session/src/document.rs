//! The findings document of a prediction, put together while its parts come in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use foretell_limit::{Reason, shielded};
use foretell_model::Blocks;
use foretell_predict::analyses::Candidate;
use foretell_predict::driver::{Counts, Prediction};
use foretell_predict::finding::Finding as PredictedFinding;
use foretell_report::json::{self, Block, Finding, Findings, TraceInfo};
use foretell_report::witness::add_values;
use foretell_report::{cause, identity, observed};
use foretell_trace::{EventId, FindingKind, Model, Trace};
use serde_json::Map;

use crate::{PredictOptions, Predicted, columns};

/// Receiver of the findings of a prediction while it goes on. `()` ignores them.
pub trait Watch {
    /// The next findings of the document are decided. Changes to them go into the document.
    ///
    /// It is called between other work, within the limits of the caller, and must not unwind
    /// because of them.
    fn decided(&mut self, trace: &Trace, model: Model, findings: &mut [Finding]) {
        let _ = (trace, model, findings);
    }
}

impl Watch for () {}

/// A document under construction: whatever limit was reached, the findings so far are reported.
pub(crate) struct Document<'a> {
    trace: &'a Trace,
    model: Model,
    options: &'a PredictOptions<'a>,
    file: Findings,
    /// The parts that are in the document.
    prediction: Prediction,
    /// Kinds that are not in the document yet.
    left: BTreeSet<FindingKind>,
    /// Parts of kinds that come after one that is not there yet.
    waiting: BTreeMap<FindingKind, Prediction>,
}

impl<'a> Document<'a> {
    /// Returns a document with the failure of the recorded run, if it failed.
    pub(crate) fn new(
        path: &Path,
        trace: &'a Trace,
        model: Model,
        options: &'a PredictOptions<'a>,
        watch: &mut dyn Watch,
    ) -> Self {
        let mut file = Findings::new(TraceInfo::new(path.display().to_string(), trace, model));
        file.shard = options.shard;
        let mut document = Document {
            trace,
            model,
            options,
            file,
            prediction: Prediction::empty(&options.driver),
            left: options.driver.analyses.clone(),
            waiting: BTreeMap::new(),
        };
        document.extend(observed::finding(trace).into_iter().collect(), watch);
        document
    }

    /// Adds the part of a kind.
    pub(crate) fn add(&mut self, kind: FindingKind, part: Prediction, watch: &mut dyn Watch) {
        self.waiting.insert(kind, part);
        while let Some(kind) = self.left.first()
            && let Some(part) = self.waiting.remove(kind)
        {
            self.left.pop_first();
            let finding = |finding| shielded(|| self.finding(finding));
            let findings = part.findings.iter().map(finding).collect();
            self.extend(findings, watch);
            self.prediction.add(part);
        }
    }

    /// Adds what is known of the kinds that have no part: these findings.
    pub(crate) fn leave_behind(
        &mut self,
        found: Vec<PredictedFinding>,
        reason: Reason,
        watch: &mut dyn Watch,
    ) {
        let missing = |kind: &&FindingKind| !self.waiting.contains_key(kind);
        let missing: Vec<FindingKind> = self.left.iter().filter(missing).copied().collect();
        for kind in missing {
            let of_kind = found.iter().filter(|f| f.candidate.kind() == kind).cloned().collect();
            self.add(kind, Prediction::left_behind(kind, of_kind, reason), watch);
        }
    }

    /// Whether the part of a kind is there.
    pub(crate) fn has(&self, kind: FindingKind) -> bool {
        !self.left.contains(&kind) || self.waiting.contains_key(&kind)
    }

    fn finding(&self, finding: &PredictedFinding) -> Finding {
        let mut finding =
            json::finding(&finding.pattern, &finding.schedule, finding.engine, self.trace);
        if self.model == Model::Symbolic {
            add_values(&mut finding, self.trace);
        }
        finding
    }

    /// Adds the findings of a kind, the next one in the order of reports.
    fn extend(&mut self, findings: Vec<Finding>, watch: &mut dyn Watch) {
        if findings.is_empty() {
            return;
        }
        let mut part = Findings::new(self.file.trace.clone());
        part.findings = findings;
        shielded(|| {
            part.renumber();
            identity::assign(&mut part.findings, self.trace);
        });
        watch.decided(self.trace, self.model, &mut part.findings);
        self.file.findings.append(&mut part.findings);
    }

    /// Returns the whole document.
    pub(crate) fn finish(self) -> Predicted {
        shielded(|| self.finished())
    }

    fn finished(self) -> Predicted {
        let Document { mut file, prediction, trace, options, .. } = self;
        let blocks = (!prediction.undecided.is_empty()).then(|| Blocks::of_trace(trace));
        for (candidate, reason) in &prediction.undecided {
            let Some(blocks) = &blocks else { continue };
            file.undecided.push(undecided(blocks, candidate, reason));
        }
        if let Some(reason) = prediction.cut_short {
            file.set_cut_short(reason.name());
        }
        for (analysis, counts) in &prediction.counts {
            if let Some(reason) = prediction.cut_short.filter(|_| !counts.is_complete()) {
                file.undecided.push(not_looked_at(*analysis, counts, reason.name()));
            }
            let columns =
                if options.stats { columns::columns(&prediction, *analysis) } else { Vec::new() };
            file.summary.insert(*analysis, summary(counts, columns));
        }
        file.count_races();
        file.renumber();
        cause::assign(&mut file.findings);
        Predicted { findings: file, prediction }
    }
}

fn summary(counts: &Counts, columns: Vec<columns::Column>) -> json::Counts {
    let extra = columns.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect();
    let mut summary = json::Counts {
        candidates: counts.candidates,
        predicted: counts.predicted,
        undecided: counts.undecided + counts.skipped,
        extra,
    };
    if !counts.is_complete() {
        summary.set_incomplete();
    }
    summary
}

/// The entry for the candidates of a kind that were not looked at.
fn not_looked_at(kind: FindingKind, counts: &Counts, reason: &str) -> json::Undecided {
    let mut extra = Map::new();
    if !counts.unlisted {
        extra.insert("groups".to_owned(), counts.skipped.into());
    }
    json::Undecided { kind, events: Vec::new(), block: None, reason: reason.to_owned(), extra }
}

fn undecided(blocks: &Blocks, candidate: &Candidate, reason: &str) -> json::Undecided {
    let mut block = None;
    let events: Vec<EventId> = match candidate {
        Candidate::Race(a, b) | Candidate::Unordered(a, b) | Candidate::Lifetime(a, b) => {
            vec![*a, *b]
        }
        Candidate::Atomicity(c, r, c2) => vec![*c, *r, *c2],
        Candidate::Serializability(b) | Candidate::Transactions(b) => {
            let b = blocks.get(*b);
            block = Some(Block { begin: b.begin.0, end: b.end.map(|e| e.0) });
            Vec::new()
        }
        Candidate::NondeterministicRead(e) | Candidate::FinalValue(e, _) => vec![*e],
        Candidate::Deadlock(acquires) => acquires.clone(),
        Candidate::Hang(root, _) => vec![*root],
    };
    json::Undecided {
        kind: candidate.kind(),
        events: events.iter().map(|e| e.0).collect(),
        block,
        reason: reason.to_owned(),
        extra: Map::new(),
    }
}
