//! `foretell predict --stats`: the columns of the papers' tables.
//!
//! Each analysis has its phases, its verdicts and its work. The summary of a findings file has the
//! counters too (`foretell_session::columns`), but neither times nor averages: those do not add up
//! over shards.

use std::io::Write;
use std::time::Duration;

use foretell_predict::driver::{Counts, Work};
use foretell_predict::engine::GraphCounts;
use foretell_report::text::grouped;
use foretell_session::Prediction;
use foretell_session::columns::{Column, phases};
use foretell_trace::FindingKind;

use crate::terminal::Terminal;

/// Prints all columns of all analyses. `events`: how many the trace has.
pub(super) fn print(
    terminal: &mut Terminal,
    prediction: &Prediction,
    events: usize,
) -> std::io::Result<()> {
    writeln!(terminal)?;
    for (&analysis, counts) in &prediction.counts {
        let phases: Vec<String> = phases(analysis, counts)
            .iter()
            .filter(|(name, _)| !matches!(*name, "lsa" | "mhb" | "segment_events"))
            .map(named)
            .collect();
        writeln!(terminal, "{analysis}: {}", phases.join(", "))?;
        let work = prediction.work.get(&analysis).copied().unwrap_or_default();
        let line = match analysis {
            FindingKind::Race => race(counts),
            FindingKind::Serializability => blocks(counts, events),
            _ => verdicts(counts),
        };
        writeln!(terminal, "  {line}; {}", effort(&work))?;
    }
    choice_graphs(terminal, &prediction.effort.graphs)
}

fn named((name, count): &Column) -> String {
    format!("{} {}", grouped(*count), name.replace('_', " "))
}

/// The race-witness paper's table 3.
fn race(counts: &Counts) -> String {
    format!(
        "lsa {}, mhb {}, wtns {}, {}",
        grouped(counts.after_locks()),
        grouped(counts.after_must()),
        grouped(counts.predicted),
        cut_short(counts)
    )
}

/// The SMT-versus-DPOR paper's table A1: AB = SP + NV + V + TO + MO (and bounded) where every block
/// is looked at.
fn blocks(counts: &Counts, events: usize) -> String {
    let average = ratio(counts.segment_events, counts.examined);
    let proofs = counts.static_proofs();
    format!(
        "AB {}, segment {average:.1} ({:.1}%), SP {} ({:.1}%), {}",
        grouped(counts.candidates),
        100.0 * average / (events.max(1) as f64),
        grouped(proofs),
        100.0 * ratio(proofs, counts.examined),
        verdicts(counts)
    )
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn verdicts(counts: &Counts) -> String {
    let (none, found) = (grouped(counts.impossible), grouped(counts.predicted));
    format!("NV {none}, V {found}, {}", cut_short(counts))
}

fn cut_short(counts: &Counts) -> String {
    let mut text = format!("TO {}, MO {}", grouped(counts.time_outs), grouped(counts.memory_outs));
    if counts.bounded > 0 {
        text += &format!(", bounded {}", grouped(counts.bounded));
    }
    text
}

/// Times, and what an engine counts: interleavings or constraints.
fn effort(work: &Work) -> String {
    let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
    let mut text =
        format!("encoding {}, solving {}", seconds(work.encoding), seconds(work.solving));
    if work.nodes > 0 {
        let (interleavings, states) = (grouped(work.interleavings), grouped(work.nodes));
        text += &format!(", {interleavings} interleavings, {states} states");
    }
    if work.constraints > 0 {
        text += &format!(", {} constraints", grouped(work.constraints));
    }
    let slices = &work.slices;
    if slices.events > 0 {
        // For each query: what is left, of what there is.
        let left = |kept: u64, all: u64| {
            format!("{} of {} ({:.1}%)", grouped(kept), grouped(all), 100.0 * ratio(kept, all))
        };
        text += &format!(
            "; simplified to {} events, {} expression nodes",
            left(slices.kept_events, slices.events),
            left(slices.kept_nodes, slices.nodes)
        );
    }
    text
}

/// The columns of the nondeterminism paper's tables, if there were choice graphs.
fn choice_graphs(terminal: &mut Terminal, graphs: &GraphCounts) -> std::io::Result<()> {
    if graphs.witnesses == 0 {
        return Ok(());
    }
    let columns: Vec<String> = graphs.columns().iter().map(named).collect();
    writeln!(terminal, "choice graphs: {}", columns.join(", "))
}
