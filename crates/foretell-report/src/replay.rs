//! Outcome of the replay of a finding, and the command that replays it.

use foretell_trace::Trace;
use serde_json::Value;

use crate::json::{Confirmation, Finding};

/// Returns the verdict: `crash`, `exception`, `assertion`, `deadlock`, `use-after-free`, `hang`,
/// `status`, `output`, `benign`, `departed`, `not-reached`.
pub(crate) fn verdict(finding: &Finding) -> Option<&str> {
    field(finding, "verdict")?.as_str()
}

/// Returns the outcome in words, with the word `unconfirmed` in front if the replay did not reach
/// the finding; `None` if it was not replayed.
pub(crate) fn outcome(finding: &Finding) -> Option<String> {
    let text = text(finding)?;
    Some(match finding.confirmation {
        Confirmation::Unconfirmed => format!("unconfirmed: {text}"),
        Confirmation::Confirmed | Confirmation::NotReplayed => text,
    })
}

/// Returns the outcome in words.
pub(crate) fn text(finding: &Finding) -> Option<String> {
    let text = field(finding, "text").and_then(Value::as_str).or_else(|| verdict(finding))?;
    let number = |name| field(finding, name).and_then(Value::as_u64);
    Some(match (number("times"), number("of")) {
        (Some(times), Some(of)) if of > 1 => format!("{text} ({times} of {of})"),
        _ => text.to_owned(),
    })
}

/// Whether the program went wrong when it was driven along the witness.
pub(crate) fn went_wrong(finding: &Finding) -> bool {
    let bad = [
        "crash",
        "assertion",
        "exception",
        "deadlock",
        "stuck",
        "use-after-free",
        "hang",
        "status",
    ];
    verdict(finding).is_some_and(|verdict| bad.contains(&verdict))
}

/// Returns the command that replays a finding of a recorded trace.
pub(crate) fn command(finding: &Finding, trace: &Trace, path: &str) -> Option<String> {
    // The program that `foretell check` builds is gone when it ends.
    let program = trace.meta().get("command").filter(|c| !c.contains("/foretell-check-"))?;
    trace.meta().get("seed")?;
    Some(format!("foretell replay {path} {} -- {program}", finding.id))
}

fn field<'a>(finding: &'a Finding, name: &str) -> Option<&'a Value> {
    finding.replay.as_ref()?.get(name)
}
