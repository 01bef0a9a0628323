//! Merging the parts of one analysis.

use std::collections::BTreeSet;

use foretell_trace::FindingKind;
use serde_json::Value;

use super::{Counts, Findings, Mismatch, Shard};

/// Reason why findings files are not parts of one whole. Parts have the names that the caller gave.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("no findings files to merge")]
    Nothing,
    /// Two parts are about different traces.
    #[error("{second}: not about the trace of {first}: {mismatch}")]
    Trace {
        /// The first part.
        first: String,
        /// The one that differs from it.
        second: String,
        /// First difference.
        mismatch: Box<Mismatch>,
    },
    /// Two parts were made in different models.
    #[error("{second}: made in another model than {first}")]
    Model {
        /// The first part.
        first: String,
        /// The one that differs from it.
        second: String,
    },
    /// One part says which part it is, and this one does not, or counts differently.
    #[error("{second}: not a part of the same division as {first}")]
    Division {
        /// The first part.
        first: String,
        /// The one that does not fit.
        second: String,
    },
    /// A part is given twice.
    #[error("{second}: part {shard} again")]
    Twice {
        /// The part that came before.
        second: String,
        /// Number of the part.
        shard: Shard,
    },
    /// Some parts are not there: the result would say "nothing found" of what was not asked.
    #[error("part {0} is missing: give all parts at once")]
    Missing(Shard),
}

/// Puts parts of one analysis of one trace together. Each part comes with the name to use for it in
/// messages.
///
/// Findings are sorted and numbered anew, so the result does not depend on the order of the parts,
/// and one that two parts have is kept once. Counters are added up. Where the parts say which part
/// they are, all must be there, each once.
pub fn merge(parts: Vec<(String, Findings)>) -> Result<Findings, MergeError> {
    check_one_trace(&parts)?;
    check_division(&parts)?;
    let mut parts = parts.into_iter().map(|(_, part)| part);
    let mut whole = parts.next().ok_or(MergeError::Nothing)?;
    whole.shard = None;
    for part in parts {
        whole.findings.extend(part.findings);
        whole.undecided.extend(part.undecided);
        for (kind, counts) in part.summary {
            add_counts(whole.summary.entry(kind).or_default(), counts);
        }
        for (name, value) in part.extra {
            whole.extra.entry(name).or_insert(value);
        }
    }
    drop_duplicates(&mut whole);
    // Sums of the parts' second events or locations would count some of them twice.
    if whole.summary.get(&FindingKind::Race).is_some_and(|c| c.extra.contains_key("second_events"))
    {
        whole.count_races();
    }
    whole.renumber();
    Ok(whole)
}

fn check_one_trace(parts: &[(String, Findings)]) -> Result<(), MergeError> {
    let (first, one) = parts.first().ok_or(MergeError::Nothing)?;
    for (second, other) in &parts[1..] {
        let (first, second) = (first.clone(), second.clone());
        if let Err(mismatch) = other.trace.same_trace(&one.trace) {
            return Err(MergeError::Trace { first, second, mismatch: Box::new(mismatch) });
        }
        if other.trace.model != one.trace.model {
            return Err(MergeError::Model { first, second });
        }
    }
    Ok(())
}

fn check_division(parts: &[(String, Findings)]) -> Result<(), MergeError> {
    let Some((first, one)) = parts.first() else { return Err(MergeError::Nothing) };
    let division = one.shard.map(|s| s.count);
    let mut seen = BTreeSet::new();
    for (second, part) in parts {
        if part.shard.map(|s| s.count) != division {
            return Err(MergeError::Division { first: first.clone(), second: second.clone() });
        }
        if let Some(shard) = part.shard
            && !seen.insert(shard.index)
        {
            return Err(MergeError::Twice { second: second.clone(), shard });
        }
    }
    // At most one more step than there are parts: the count comes from a file and may be huge.
    match division.and_then(|count| (1..=count).find(|i| !seen.contains(i)).map(|i| (i, count))) {
        Some((index, count)) => Err(MergeError::Missing(Shard { index, count })),
        None => Ok(()),
    }
}

fn add_counts(sum: &mut Counts, more: Counts) {
    sum.candidates = sum.candidates.saturating_add(more.candidates);
    sum.predicted = sum.predicted.saturating_add(more.predicted);
    sum.undecided = sum.undecided.saturating_add(more.undecided);
    let complete = sum.is_complete() && more.is_complete();
    for (name, value) in more.extra {
        match (sum.extra.get(&name).and_then(Value::as_u64), value.as_u64()) {
            (Some(a), Some(b)) => {
                sum.extra.insert(name, a.saturating_add(b).into());
            }
            _ => {
                sum.extra.entry(name).or_insert(value);
            }
        }
    }
    if !complete {
        sum.set_incomplete();
    }
}

/// Keeps one of findings that are the same unit: the one with the shortest witness, the first in
/// numeric order among those. `predicted` counts what is kept.
fn drop_duplicates(whole: &mut Findings) {
    whole.findings.sort_by(|a, b| {
        let (x, y) = (&a.witness.schedule, &b.witness.schedule);
        let witness = || x.len().cmp(&y.len()).then_with(|| x.cmp(y));
        a.unit().order(&b.unit()).then_with(witness).then_with(|| a.engine.cmp(&b.engine))
    });
    let summary = &mut whole.summary;
    whole.findings.dedup_by(|later, kept| {
        let same = later.unit() == kept.unit();
        if same && let Some(counts) = summary.get_mut(&later.kind) {
            counts.predicted = counts.predicted.saturating_sub(1);
        }
        same
    });
}
