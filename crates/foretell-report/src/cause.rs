//! Findings with one cause: a missing lock shows itself as a race, as a block that is not atomic,
//! as a cycle of transactions and as reads that depend on the schedule.
//!
//! Two findings have one cause if they are about one object: a global, an allocation, or the part
//! of one. Fields and elements count as their object. Deadlocks are about their locks, and have one
//! cause if these are the same. A hang is about what it waits for. The failure of the recorded run
//! has a cause of its own.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use foretell_trace::FindingKind;

use crate::json::{Confirmation, Finding};
use crate::replay;

/// Sets the cause of every finding: the id of the finding that stands for all with that cause.
pub fn assign(findings: &mut [Finding]) {
    let causes = causes(findings);
    for members in causes {
        let Some(&first) = members.first() else { continue };
        let cause = findings[first].id.clone();
        for member in members {
            findings[member].cause = Some(cause.clone());
        }
    }
}

/// Returns the findings by their causes, as indices; the worst consequence of a cause comes first.
/// Failures of the recorded run and causes whose replay went wrong come first, and otherwise in the
/// order of their first findings.
pub fn causes(findings: &[Finding]) -> Vec<Vec<usize>> {
    let mut parents: Vec<usize> = (0..findings.len()).collect();
    let mut owners = BTreeMap::<String, usize>::new();
    for (i, finding) in findings.iter().enumerate() {
        for key in keys(finding) {
            let owner = *owners.entry(key).or_insert(i);
            let (a, b) = (root(&mut parents, owner), root(&mut parents, i));
            parents[a.max(b)] = a.min(b);
        }
    }
    let mut causes = BTreeMap::<usize, Vec<usize>>::new();
    for i in 0..findings.len() {
        causes.entry(root(&mut parents, i)).or_default().push(i);
    }
    let mut causes: Vec<Vec<usize>> = causes.into_values().collect();
    for members in &mut causes {
        members.sort_by_key(|&i| (Reverse(weight(&findings[i])), i));
    }
    causes.sort_by_key(|members| {
        let head = members.first().map(|&i| &findings[i]);
        let is_bad = |f: &Finding| f.kind == FindingKind::Observed || replay::went_wrong(f);
        !head.is_some_and(|head| head.is_shown() && is_bad(head))
    });
    causes
}

fn root(parents: &mut [usize], mut i: usize) -> usize {
    while parents[i] != i {
        parents[i] = parents[parents[i]];
        i = parents[i];
    }
    i
}

/// The keys that findings with one cause have in common.
fn keys(finding: &Finding) -> BTreeSet<String> {
    match finding.kind {
        FindingKind::Observed => BTreeSet::from([format!("run {}", finding.id)]),
        FindingKind::Deadlock => {
            let locks: BTreeSet<&str> = finding.objects.iter().map(String::as_str).collect();
            BTreeSet::from([format!("locks {}", Vec::from_iter(locks).join(" "))])
        }
        _ => finding.objects.iter().map(|object| format!("object {}", whole(object))).collect(),
    }
}

/// Returns the object that a name is a part of: `cache` for `cache.misses` and `cache+136`,
/// `heap@a.c:3#1` for `heap@a.c:3#1+8`.
fn whole(name: &str) -> &str {
    // The name of an allocation has the file of its call, with a dot.
    let from = name.find('#').unwrap_or(0);
    let end = name[from..].find(['.', '[', '+']).map_or(name.len(), |at| from + at);
    if end == 0 { name } else { &name[..end] }
}

/// Causes of the findings that a report has shown so far: it shows the first finding of a cause
/// whole, and the others in a few lines.
#[derive(Clone, Default, Debug)]
pub struct ShownCauses {
    /// The finding that stands for what a key belongs to.
    heads: BTreeMap<String, String>,
    /// The findings that stand for a cause of which a replay went wrong.
    wrong: BTreeSet<String>,
    /// Nondeterministic reads that stand for a cause: mere signs of what any other kind names.
    signs: BTreeSet<String>,
}

impl ShownCauses {
    /// Notes that a finding is shown. Returns the id of the finding that it is a variant of, if it
    /// is one: one with the same cause is shown, this one is not the first whose replay went wrong,
    /// and not the first that is more than a nondeterministic read.
    pub fn variant_of(&mut self, finding: &Finding) -> Option<String> {
        let keys = keys(finding);
        let known = keys.iter().find_map(|key| self.heads.get(key).cloned());
        let wrong = replay::went_wrong(finding);
        let is_sign = finding.kind == FindingKind::Nondeterminism;
        let variant = known.clone().filter(|head| {
            (!wrong || self.wrong.contains(head)) && (is_sign || !self.signs.contains(head))
        });
        let head = variant.clone().unwrap_or_else(|| finding.id.clone());
        if wrong {
            self.wrong.insert(head.clone());
        }
        if is_sign && variant.is_none() {
            self.signs.insert(head.clone());
        }
        for key in keys {
            self.heads.insert(key, head.clone());
        }
        // All that had the earlier one now have the worse one.
        if let (None, Some(known)) = (&variant, known) {
            self.heads.values_mut().filter(|id| **id == known).for_each(|id| id.clone_from(&head));
        }
        variant
    }
}

/// Weight of a finding among those with its cause: a consequence that was seen counts more than one
/// that was only predicted. Among those that were only predicted the order of reports decides.
fn weight(finding: &Finding) -> (bool, bool, bool, u8) {
    let confirmed = finding.confirmation == Confirmation::Confirmed;
    let kind = match finding.kind {
        _ if !confirmed => 0,
        FindingKind::Observed => 9,
        FindingKind::Deadlock => 8,
        FindingKind::Hang => 7,
        FindingKind::Lifetime => 6,
        FindingKind::Race => 5,
        FindingKind::Atomicity => 4,
        FindingKind::Serializability => 3,
        FindingKind::Transactions => 2,
        FindingKind::Nondeterminism => 1,
    };
    let shown = finding.is_shown();
    let wrong = replay::went_wrong(finding);
    (shown, wrong, confirmed, kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::tests::finding;

    fn about(kind: FindingKind, id: &str, objects: &[&str]) -> Finding {
        let objects = objects.iter().map(|&o| o.to_owned()).collect();
        Finding { id: id.to_owned(), objects, ..finding(kind, &[0, 1]) }
    }

    fn failed(mut finding: Finding) -> Finding {
        finding.set_replay(serde_json::json!({"verdict": "crash"}), true);
        finding
    }

    #[test]
    fn findings_about_one_object_have_one_cause() {
        let mut findings = [
            about(FindingKind::Race, "race-1", &["stack.top"]),
            about(FindingKind::Race, "race-2", &["heap@a.cpp:3#1+8"]),
            failed(about(FindingKind::Atomicity, "atomicity-1", &["stack.size"])),
            about(FindingKind::Deadlock, "deadlock-1", &["a", "b"]),
            about(FindingKind::Nondeterminism, "nondeterminism-1", &["heap@a.cpp:3#1"]),
            about(FindingKind::Deadlock, "deadlock-2", &["b", "a"]),
            about(FindingKind::Race, "race-3", &["a"]),
        ];
        assert_eq!(causes(&findings), [vec![2, 0], vec![1, 4], vec![3, 5], vec![6]]);
        assign(&mut findings);
        let causes: Vec<&str> = findings.iter().filter_map(|f| f.cause.as_deref()).collect();
        let expected = [
            "atomicity-1",
            "race-2",
            "atomicity-1",
            "deadlock-1",
            "race-2",
            "deadlock-1",
            "race-3",
        ];
        assert_eq!(causes, expected);
    }

    #[test]
    fn suppressed_finding_stands_for_no_cause() {
        let mut race = about(FindingKind::Race, "race-1", &["x"]);
        let by = crate::json::Suppressed { rule: "r".to_owned(), location: "a:1".to_owned() };
        race.suppressed = Some(by);
        let findings = [race, about(FindingKind::Nondeterminism, "nondeterminism-1", &["x"])];
        assert_eq!(causes(&findings), [vec![1, 0]]);
    }

    #[test]
    fn worse_consequence_is_shown_whole() {
        let mut shown = ShownCauses::default();
        assert_eq!(shown.variant_of(&about(FindingKind::Race, "race-1", &["x"])), None);
        let variant = shown.variant_of(&about(FindingKind::Race, "race-2", &["x+4", "y"]));
        assert_eq!(variant.as_deref(), Some("race-1"));
        assert_eq!(shown.variant_of(&failed(about(FindingKind::Atomicity, "a-1", &["y"]))), None);
        let variant = shown.variant_of(&failed(about(FindingKind::Nondeterminism, "n-1", &["x"])));
        assert_eq!(variant.as_deref(), Some("a-1"));
        assert_eq!(shown.variant_of(&about(FindingKind::Race, "race-3", &["z"])), None);
    }

    #[test]
    fn nondeterministic_read_stands_for_no_lifetime_violation() {
        let mut shown = ShownCauses::default();
        let read = |id| about(FindingKind::Nondeterminism, id, &["block+8"]);
        let lifetime = |id| about(FindingKind::Lifetime, id, &["block"]);
        assert_eq!(shown.variant_of(&read("n-1")), None);
        assert_eq!(shown.variant_of(&read("n-2")).as_deref(), Some("n-1"));
        assert_eq!(shown.variant_of(&lifetime("l-1")), None);
        assert_eq!(shown.variant_of(&lifetime("l-2")).as_deref(), Some("l-1"));
        assert_eq!(shown.variant_of(&read("n-3")).as_deref(), Some("l-1"));
    }
}
