//! Findings as one HTML file that needs neither the network nor other files.
//!
//! The page holds the events that the witnesses need, the witnesses, the sources they name, and a
//! script that draws them; style and script are the plain files under `assets`. The module `data`
//! has the format. A witness keeps the order of each thread, so it is written as runs (thread,
//! number of its next events): a few numbers for a witness of any length.

mod data;

use std::io::{self, Write};

use foretell_trace::{FindingKind, Trace};
use serde_json::{Value, json};

use crate::explain;
use crate::headline::kind_in_words;
use crate::json::Findings;
use crate::source::Sources;

const PAGE: &str = include_str!("../../assets/report.html");
const STYLE: &str = include_str!("../../assets/report.css");
/// The script, one noun a file.
const SCRIPT: [&str; 8] = [
    include_str!("../../assets/trace.js"),
    include_str!("../../assets/simulation.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/overview.js"),
    include_str!("../../assets/state.js"),
    include_str!("../../assets/search.js"),
    include_str!("../../assets/list.js"),
    include_str!("../../assets/main.js"),
];

/// Most events in a page; witnesses that need more are listed without a timeline.
const MOST_EVENTS: usize = 1_000_000;

/// A page under construction.
#[derive(Debug, Default)]
pub struct Page {
    traces: Vec<Value>,
    findings: Vec<Value>,
    sources: serde_json::Map<String, Value>,
    /// Bytes of source in the page.
    source_bytes: usize,
    /// Number of events in the page.
    events: usize,
}

impl Page {
    /// Returns an empty page.
    pub fn new() -> Self {
        Page::default()
    }

    /// Adds a findings file; without its trace findings have no timeline.
    pub fn add(&mut self, file: &Findings, trace: Option<&Trace>, sources: &Sources) {
        let number = self.traces.len();
        let left = MOST_EVENTS.saturating_sub(self.events);
        let excerpt = trace.map(|trace| data::Excerpt::new(file, trace, left));
        for (i, finding) in file.findings.iter().enumerate() {
            let mut value = data::finding(finding, file, trace, sources);
            value["trace"] = json!(number);
            if let Some(excerpt) = excerpt.as_ref().filter(|e| e.holds(i)) {
                excerpt.witness(finding, file.trace.model, &mut value);
            }
            self.findings.push(value);
        }
        let info = &file.trace;
        let mut value = json!({
            "path": info.path, "events": info.events, "threads": info.threads,
            "variables": info.variables, "locks": info.locks, "model": info.model.name(),
            "summary": file.summary, "undecided": file.undecided.len(),
            "complete": file.is_complete(),
        });
        if let Some(process) = &info.process {
            value["process"] = json!(process);
        }
        if let Some(excerpt) = excerpt {
            self.events += excerpt.len();
            excerpt.describe(&mut value);
            for name in excerpt.files() {
                self.add_source(name, sources);
            }
        }
        self.traces.push(value);
    }

    fn add_source(&mut self, name: &str, sources: &Sources) {
        /// So much source is put into a page.
        const MOST_SOURCE: usize = 8 << 20;
        if self.sources.contains_key(name) {
            return;
        }
        let Some(source) = sources.find(name) else { return };
        let bytes: usize = source.lines().iter().map(|line| line.len() + 1).sum();
        if self.source_bytes + bytes > MOST_SOURCE {
            return;
        }
        self.source_bytes += bytes;
        let path = source.path.display().to_string();
        self.sources.insert(name.to_owned(), json!({"path": path, "lines": source.lines()}));
    }

    /// Writes the page.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let kinds: serde_json::Map<String, Value> = FindingKind::ALL
            .into_iter()
            .map(|kind| {
                let about =
                    json!({"words": kind_in_words(kind), "explain": explain::markdown(kind)});
                (kind.name().to_owned(), about)
            })
            .collect();
        let data = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "kinds": kinds,
            "traces": self.traces,
            "sources": self.sources,
            "findings": self.findings,
        });
        // Nothing in the data may end the element that it is in.
        let data = serde_json::to_string(&data)?.replace('<', "\\u003c");
        let mut rest = PAGE;
        for (mark, content) in
            [("/*STYLE*/", STYLE), ("/*DATA*/", &data), ("/*SCRIPT*/", &SCRIPT.concat())]
        {
            let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
            out.write_all(before.as_bytes())?;
            out.write_all(content.as_bytes())?;
            rest = after;
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests;
