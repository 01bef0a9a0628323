//! The papers' tables with our own rows: for each program of a table a trace of our re-creation of
//! it (`foretell_generate::programs`), analysed with the default engine.
//!
//! `bench/papers [race-witnesses] [nondeterminism] [serializability] [symbolic-atomicity]` prints
//! the tables in Markdown. The papers' numbers come from `bench/tables/*.tsv`. The run fails if a
//! query stays undecided, or if a count that the program determines is another one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use foretell_generate::programs::{self, Benchmark, Shape};
use foretell_predict::driver::{Counts, Options, Prediction, predict};
use foretell_predict::engines::EngineKind;
use foretell_trace::{FindingKind, Model, Trace};

/// A row of a table: the names of the columns and what the paper has in them.
struct Row<'t> {
    columns: &'t [String],
    cells: Vec<String>,
}

impl Row<'_> {
    fn get(&self, column: &str) -> &str {
        let i = self.columns.iter().position(|c| c == column);
        i.and_then(|i| self.cells.get(i)).map_or("", String::as_str)
    }

    fn number(&self, column: &str) -> Option<usize> {
        self.get(column).parse().ok()
    }

    /// The trace of our program for this row. What only says how the paper's tracer counts is left
    /// out.
    fn trace(&self, races: usize, (violations, guarded): (usize, usize)) -> Result<Trace, String> {
        let benchmark: Benchmark = self.get("program").parse()?;
        let accesses = self.number("accesses");
        let shape = Shape {
            threads: self.number("threads").unwrap_or(2),
            events: self.number("events").filter(|_| accesses.is_none()),
            lock_events: self.number("lock_events"),
            locks: self.number("locks"),
            accesses,
            variables: self.number("variables"),
            wait_notifies: self.number("wait_notifies"),
            conditions: self.number("conditions"),
            blocks: self.number("blocks"),
            races,
            violations,
            guarded,
        };
        Ok(programs::trace(benchmark, &shape))
    }
}

/// The result of an analysis of a trace, and the time from the trace to the verified findings.
struct Outcome {
    prediction: Prediction,
    counts: Counts,
    seconds: f64,
}

fn analyse(trace: &Trace, model: Model, analysis: FindingKind, engine: EngineKind) -> Outcome {
    let analyses = BTreeSet::from([analysis]);
    let options = Options { all: true, analyses, engine, ..Options::default() };
    let start = Instant::now();
    let prediction = match predict(trace, model, &options) {
        Ok(prediction) => prediction,
        Err(defects) => panic!("the checker refused a witness: {}", defects[0]),
    };
    let seconds = start.elapsed().as_secs_f64();
    let counts = prediction.counts[&analysis];
    Outcome { prediction, counts, seconds }
}

/// The values of a row of ours by column, and what is wrong with them.
type Ours = (Vec<(&'static str, String)>, Vec<String>);

struct Table {
    file: &'static str,
    title: &'static str,
    /// The columns to print, with their headings.
    columns: &'static [(&'static str, &'static str)],
    ours: fn(&Row<'_>) -> Result<Ours, String>,
}

const TABLES: [Table; 4] = [
    Table {
        file: "race-witnesses",
        title: "Data race witnesses by SMT, table 3",
        columns: &[
            ("threads", "threads"),
            ("events", "length"),
            ("lock_events", "lk-evs"),
            ("wait_notifies", "wn-evs"),
            ("variables", "rw"),
            ("locks", "lk"),
            ("conditions", "wn"),
            ("lsa", "lsa"),
            ("mhb", "mhb"),
            ("witnesses", "wtns"),
            ("undecided", "TO"),
            ("seconds", "time (s)"),
        ],
        ours: race_witnesses,
    },
    Table {
        file: "nondeterminism",
        title: "Nondeterminism, table A1",
        columns: &[
            ("threads", "thrds"),
            ("events", "evs"),
            ("lock_events", "l-evs"),
            ("locks", "l-vars"),
            ("accesses", "rw-evs"),
            ("variables", "rw-vars"),
            ("wait_notifies", "wn-evs"),
            ("witnesses", "possible witnesses"),
            ("cyclic", "cyclic"),
            ("without_choice", "no choice"),
            ("with_choice", "choice"),
            ("graphs_possible", "possible graphs each"),
            ("graphs_explored", "explored each"),
            ("reads", "nondeterministic reads"),
            ("undecided", "TO"),
            ("seconds", "graph (s)"),
            ("order_seconds", "order (s)"),
        ],
        ours: nondeterminism,
    },
    Table {
        file: "serializability",
        title: "Serializability: SMT versus DPOR, table A1",
        columns: &[
            ("threads", "thrds"),
            ("events", "evs"),
            ("lock_events", "l-evs"),
            ("locks", "l-vars"),
            ("accesses", "rw-evs"),
            ("variables", "rw-vars"),
            ("wait_notifies", "wn-evs"),
            ("blocks", "AB"),
            ("segment", "avg. TAS"),
            ("static", "SP"),
            ("nv", "NV"),
            ("v", "V"),
            ("undecided", "TO + MO"),
            ("seconds", "time (s)"),
        ],
        ours: serializability,
    },
    Table {
        file: "symbolic-atomicity",
        title: "Symbolic atomicity, table 1",
        columns: &[
            ("threads", "thrds"),
            ("variables", "svars"),
            ("events", "original"),
            ("blocks", "regions"),
            ("candidates", "orig-pavs"),
            ("after_must", "hb-pavs"),
            ("violations", "sym-avs"),
            ("undecided", "TO"),
            ("seconds", "time (s)"),
        ],
        ours: atomicity,
    },
];

/// The columns of every table: the shape of the trace, the undecided candidates, and the time.
fn common(trace: &Trace, outcome: &Outcome) -> Ours {
    let shape = programs::measure(trace);
    let text = |n: Option<usize>| n.unwrap_or(0).to_string();
    let undecided = outcome.prediction.undecided.len();
    let ours = vec![
        ("threads", shape.threads.to_string()),
        ("events", text(shape.events)),
        ("lock_events", text(shape.lock_events)),
        ("locks", text(shape.locks)),
        ("accesses", text(shape.accesses)),
        ("variables", text(shape.variables)),
        ("wait_notifies", text(shape.wait_notifies)),
        ("conditions", text(shape.conditions)),
        ("blocks", text(shape.blocks)),
        ("undecided", undecided.to_string()),
        ("seconds", format!("{:.3}", outcome.seconds)),
    ];
    let wrong = (undecided > 0).then(|| format!("{undecided} queries are undecided"));
    (ours, wrong.into_iter().collect())
}

/// Says what is wrong if a count is not what the program determines.
fn expect(wrong: &mut Vec<String>, what: &str, expected: Option<u64>, found: u64) {
    if expected.is_some_and(|n| n != found) {
        wrong.push(format!("{found} {what} instead of {}", expected.unwrap_or(0)));
    }
}

fn race_witnesses(row: &Row<'_>) -> Result<Ours, String> {
    let trace = row.trace(row.number("witnesses").unwrap_or(0), (0, 0))?;
    let outcome = analyse(&trace, Model::auto(&trace), FindingKind::Race, EngineKind::default());
    let counts = &outcome.counts;
    let (mut ours, mut wrong) = common(&trace, &outcome);
    let lsa = counts.candidates - counts.locksets - counts.histories;
    ours.push(("lsa", lsa.to_string()));
    ours.push(("mhb", (lsa - counts.must_happen_before).to_string()));
    ours.push(("witnesses", counts.predicted.to_string()));
    expect(&mut wrong, "races", row.number("witnesses").map(|n| n as u64), counts.predicted);
    Ok((ours, wrong))
}

fn nondeterminism(row: &Row<'_>) -> Result<Ours, String> {
    let trace = row.trace(0, (0, 0))?;
    let outcome = analyse(&trace, Model::View, FindingKind::Nondeterminism, EngineKind::Graph);
    let exact = analyse(&trace, Model::View, FindingKind::Nondeterminism, EngineKind::Order);
    let graphs = outcome.prediction.effort.graphs;
    let (mut ours, mut wrong) = common(&trace, &outcome);
    let each = |sum: u64| match graphs.with_choice - graphs.left_open {
        0 => "-".to_owned(),
        n if sum / n >= 1_000_000 => format!("{:.1e}", sum as f64 / n as f64),
        n => format!("{:.2}", sum as f64 / n as f64),
    };
    ours.extend([
        ("witnesses", graphs.witnesses.to_string()),
        ("cyclic", graphs.cyclic.to_string()),
        ("without_choice", graphs.without_choice.to_string()),
        ("with_choice", graphs.with_choice.to_string()),
        ("graphs_possible", each(graphs.possible)),
        ("graphs_explored", each(graphs.explored)),
        ("reads", outcome.counts.predicted.to_string()),
        ("order_seconds", format!("{:.3}", exact.seconds)),
    ]);
    let events = |o: &Outcome| o.prediction.findings.iter().map(|f| f.candidate.clone()).collect();
    let (a, b): (Vec<_>, Vec<_>) = (events(&outcome), events(&exact));
    if a != b {
        wrong.push("choice graphs and the order engine differ".to_owned());
    }
    Ok((ours, wrong))
}

fn serializability(row: &Row<'_>) -> Result<Ours, String> {
    // The most that one of the paper's searches decided.
    let most = |what: &str| {
        let searches = ["dpor", "yices", "z3"];
        searches.iter().filter_map(|s| row.number(&format!("{s}_{what}"))).max().unwrap_or(0)
    };
    let violations = most("v");
    let trace = row.trace(0, (violations, most("nv")))?;
    let outcome = analyse(&trace, Model::View, FindingKind::Serializability, EngineKind::default());
    let counts = &outcome.counts;
    let (mut ours, mut wrong) = common(&trace, &outcome);
    let open = counts.candidates - counts.static_check;
    let segment = counts.segment_events as f64 / counts.examined.max(1) as f64;
    ours.push(("segment", format!("{segment:.1}")));
    ours.push(("static", counts.static_check.to_string()));
    ours.push(("nv", (open - counts.predicted - counts.undecided).to_string()));
    ours.push(("v", counts.predicted.to_string()));
    expect(&mut wrong, "violations", Some(violations as u64), counts.predicted);
    Ok((ours, wrong))
}

fn atomicity(row: &Row<'_>) -> Result<Ours, String> {
    let trace = row.trace(0, (0, 0))?;
    let outcome =
        analyse(&trace, Model::auto(&trace), FindingKind::Atomicity, EngineKind::default());
    let counts = &outcome.counts;
    let (mut ours, mut wrong) = common(&trace, &outcome);
    ours.push(("candidates", counts.candidates.to_string()));
    ours.push(("after_must", counts.solved.to_string()));
    ours.push(("violations", counts.predicted.to_string()));
    let expected = row.number("violations").map(|n| n as u64);
    expect(&mut wrong, "violations", expected, counts.predicted);
    Ok((ours, wrong))
}

/// The paper's figure for one of our columns: in the serializability table the three searches side
/// by side.
fn of_paper(row: &Row<'_>, column: &str) -> String {
    let searches = |what: &str| {
        let names = ["dpor", "yices", "z3"];
        names.map(|s| row.get(&format!("{s}_{what}")).to_owned()).join(" / ")
    };
    let is_search = !row.get("dpor_v").is_empty();
    match column {
        "nv" | "v" | "seconds" if is_search => searches(column),
        "undecided" if is_search => {
            let n = |s: &str, what: &str| row.number(&format!("{s}_{what}")).unwrap_or(0);
            ["dpor", "yices", "z3"].map(|s| (n(s, "to") + n(s, "mo")).to_string()).join(" / ")
        }
        _ => row.get(column).to_owned(),
    }
}

impl Table {
    /// Prints the table; whether everything is as it should be.
    fn print(&self) -> Result<bool, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/tables");
        let path = root.join(format!("{}.tsv", self.file));
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut lines = text.lines();
        let citation = lines.next().unwrap_or("").trim_start_matches("# ");
        let split = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
        let columns = lines.next().map(split).unwrap_or_default();
        println!("### {}\n\n{citation}\n", self.title);
        let headings: Vec<_> = self.columns.iter().map(|(_, heading)| *heading).collect();
        println!("| program | row | {} |", headings.join(" | "));
        println!("|---|---|{}", "---:|".repeat(headings.len()));
        let mut fine = true;
        for line in lines {
            let row = Row { columns: &columns, cells: split(line) };
            let (ours, wrong) = (self.ours)(&row)?;
            let paper: Vec<String> = self.columns.iter().map(|(c, _)| of_paper(&row, c)).collect();
            let mine = |c: &str| ours.iter().find(|(n, _)| *n == c).map_or("", |(_, v)| v);
            let mine: Vec<&str> = self.columns.iter().map(|(c, _)| mine(c)).collect();
            println!("| {} | paper | {} |", row.get("name"), paper.join(" | "));
            println!("| | ours | {} |", mine.join(" | "));
            for wrong in wrong {
                fine = false;
                eprintln!("{}: {wrong}", row.get("name"));
            }
        }
        println!();
        Ok(fine)
    }
}

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if let Some(unknown) = wanted.iter().find(|w| !TABLES.iter().any(|t| t.file == **w)) {
        let names: Vec<_> = TABLES.iter().map(|t| t.file).collect();
        eprintln!("no table is called `{unknown}` ({})", names.join(", "));
        return ExitCode::from(2);
    }
    let mut fine = true;
    for table in TABLES.iter().filter(|t| wanted.is_empty() || wanted.iter().any(|w| w == t.file)) {
        match table.print() {
            Ok(table_fine) => fine &= table_fine,
            Err(message) => {
                eprintln!("{message}");
                return ExitCode::from(2);
            }
        }
    }
    if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
