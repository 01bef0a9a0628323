//! The result of an exploration, for people and for programs.

use std::io::{self, Write};

use foretell_report::json::Finding;
use foretell_report::text::printable;
use foretell_session::{Explored, Outcome};
use serde_json::{Value, json};

/// Most outcomes that are listed.
const MOST_OUTCOMES: usize = 20;
/// Most bytes of an output that are shown.
const MOST_OUTPUT: usize = 60;
/// Most reasons that are listed.
const MOST_REASONS: usize = 5;

/// Writes outcomes and verdict. `again` is the command that explores further.
pub(crate) fn write(
    out: &mut dyn Write,
    explored: &Explored,
    in_depth: bool,
    again: &str,
) -> io::Result<()> {
    let Explored { outcomes, exploration } = explored;
    if in_depth || outcomes.len() > 1 {
        let count = match outcomes.len() {
            1 => "1 outcome".to_owned(),
            n => format!("{n} outcomes"),
        };
        writeln!(out, "\n{count}:")?;
        for outcome in outcomes.iter().take(MOST_OUTCOMES) {
            writeln!(out, "  {}", line(outcome))?;
        }
        if outcomes.len() > MOST_OUTCOMES {
            writeln!(out, "  and {} more", outcomes.len() - MOST_OUTCOMES)?;
        }
        writeln!(out)?;
    }
    let runs = match exploration.runs {
        1 => "1 run".to_owned(),
        n => format!("{n} runs"),
    };
    if explored.is_complete() {
        writeln!(
            out,
            "explored {runs}: complete; for this input, no schedule makes the program do anything \
             else"
        )?;
        return Ok(());
    }
    let stopped = exploration.stopped.as_ref().map_or(String::new(), |s| format!(" ({s})"));
    writeln!(out, "explored {runs}: incomplete{stopped}")?;
    if in_depth || exploration.stopped.is_none() {
        for open in exploration.open.iter().take(MOST_REASONS) {
            writeln!(out, "  {}", printable(&open.to_string()))?;
        }
        if exploration.open.len() > MOST_REASONS {
            writeln!(
                out,
                "  and {} more (--json lists them)",
                exploration.open.len() - MOST_REASONS
            )?;
        }
    } else {
        writeln!(out, "to go on: {}", printable(again))?;
    }
    Ok(())
}

fn line(outcome: &Outcome) -> String {
    let runs = match outcome.runs {
        1 => "1 run".to_owned(),
        n => format!("{n} runs"),
    };
    let end = outcome.failure.as_deref().unwrap_or(&outcome.ended);
    let mut line = format!("{runs:>8}, first run {}: {end}", outcome.first);
    if !outcome.stdout.is_empty() {
        let text = String::from_utf8_lossy(&outcome.stdout);
        let mut short: String = text.chars().take(MOST_OUTPUT).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        line += &format!(", output {short:?}");
    }
    printable(&line)
}

/// Returns a finding of a later run, with the number of the run.
pub(crate) fn finding_of_run(finding: &Finding, run: u64) -> Value {
    let mut value = json!(finding);
    value["run"] = json!(run);
    value
}

/// Returns the value of the field `exploration` of a findings file; `findings` are those of later
/// runs.
pub(crate) fn to_json(explored: &Explored, findings: Vec<Value>) -> Value {
    let Explored { outcomes, exploration } = explored;
    let outcomes: Vec<Value> = outcomes
        .iter()
        .map(|o| {
            json!({
                "ended": o.ended,
                "failure": o.failure,
                "output": String::from_utf8_lossy(&o.stdout),
                "runs": o.runs,
                "first_run": o.first,
                "schedule": o.schedule,
            })
        })
        .collect();
    let open: Vec<Value> = exploration
        .open
        .iter()
        .map(|open| json!({"reason": open.name(), "text": open.to_string()}))
        .collect();
    json!({
        "verdict": if explored.is_complete() { "complete" } else { "incomplete" },
        "runs": exploration.runs,
        "redundant": exploration.redundant,
        "departed": exploration.departed,
        "stopped": exploration.stopped,
        "outcomes": outcomes,
        "findings": findings,
        "open": open,
    })
}
