//! The finding that the recorded run itself failed.

use foretell_trace::{FindingKind, RunFailure, ThreadId, Trace};
use foretell_verify::Pattern;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{self, Confirmation, Finding};

/// Field of an observed finding that tells what went wrong.
const FAILURE: &str = "failure";
/// Field of a finding whose replay only shows the failure of the recorded run again: the observed
/// finding that it is folded into.
const FOLDED: &str = "folded_into";

/// Content of the field `failure` of an observed finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// Kind of failure: `crash`, `assertion`, `exception`, `deadlock`, `hang`, `killed`,
    /// `status`.
    pub kind: String,
    /// The failure in one line.
    pub message: String,
    /// The threads involved.
    #[serde(default)]
    pub threads: Vec<ThreadState>,
    /// Seed that repeats it.
    #[serde(default)]
    pub seed: Option<String>,
    /// Command that was recorded.
    #[serde(default)]
    pub command: Option<String>,
    /// Number of the run in an exploration, if it followed a schedule that the seed does not give.
    #[serde(default)]
    pub run: Option<String>,
}

/// State of a thread when the run failed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ThreadState {
    /// Name of the thread.
    pub thread: String,
    /// Its state in one line: `waits for m at a.c:12, held by T2`.
    pub state: String,
}

impl Failure {
    fn new(failure: &RunFailure, trace: &Trace) -> Failure {
        let note = |key: &str| trace.meta().get(key).cloned();
        let threads = failure.threads.iter().map(|(thread, state)| ThreadState {
            thread: display_name(trace, thread),
            state: state.clone(),
        });
        Failure {
            kind: failure.kind.name().to_owned(),
            message: failure.message.clone(),
            threads: threads.collect(),
            seed: note("seed"),
            command: note("command").filter(|c| !c.contains("/foretell-check-")),
            run: note("schedule").and_then(|_| note("run")),
        }
    }

    /// Returns the failure of an observed finding.
    pub(crate) fn read(finding: &Finding) -> Option<Failure> {
        let field = finding.extra.get(FAILURE).filter(|_| is_observed(finding))?;
        serde_json::from_value(field.clone()).ok()
    }

    /// Returns the headline of the finding.
    pub(crate) fn headline(&self) -> String {
        let Failure { kind, message, .. } = self;
        match kind.as_str() {
            "deadlock" => format!("The recorded run ended in a deadlock: {message}"),
            "assertion" => format!("An assertion failed in the recorded run: {message}"),
            "exception" => format!("An exception ended a thread of the recorded run: {message}"),
            "crash" => format!("The recorded run crashed: {message}"),
            "hang" => format!("The recorded run hung: {message}"),
            "status" => format!("The program ends differently under another schedule: {message}"),
            "killed" => format!("The recorded run was killed: {message}"),
            _ => format!("The recorded run failed: {message}"),
        }
    }

    /// Returns the text that says how to see the failure again.
    pub(crate) fn repeat(&self) -> Option<String> {
        let seed = self.seed.as_ref()?;
        if let Some(run) = &self.run {
            let command = self.command.as_deref().unwrap_or("DIR/program");
            return Some(format!(
                "the same command with --save DIR, then \
                 foretell replay DIR/run-{run}.ft observed-1 -- {command}"
            ));
        }
        Some(match &self.command {
            Some(command) => format!("foretell record --seed {seed} -- {command}"),
            None => format!("the same command with --seed {seed}"),
        })
    }
}

fn display_name(trace: &Trace, name: &str) -> String {
    let mut threads = (0..trace.thread_count() as u32).map(ThreadId);
    let known = threads.find(|&t| trace.thread_name(t) == name);
    known.map_or_else(|| name.to_owned(), |t| trace.display_name(t).to_owned())
}

/// Whether a finding is that of the recorded run itself.
pub fn is_observed(finding: &Finding) -> bool {
    finding.kind == FindingKind::Observed
}

/// Returns the finding that the recorded run failed, if the trace carries a failure. It has no
/// identifier yet, and needs no replay: the real program has shown it.
pub fn finding(trace: &Trace) -> Option<Finding> {
    let failure = RunFailure::of(trace)?;
    let pattern = Pattern::Observed { last: failure.last_events(trace) };
    let mut finding = json::finding(&pattern, &[], "recorded", trace);
    finding.confirmation = Confirmation::Confirmed;
    let value = serde_json::to_value(Failure::new(&failure, trace)).unwrap_or(Value::Null);
    finding.extra.insert(FAILURE.to_owned(), value);
    Some(finding)
}

/// Folds a finding into the observed one with this identifier.
pub fn fold(finding: &mut Finding, into: &str) {
    finding.extra.insert(FOLDED.to_owned(), Value::from(into));
}

/// Returns the identifier of the observed finding that a finding is folded into.
pub fn folded_into(finding: &Finding) -> Option<&str> {
    finding.extra.get(FOLDED)?.as_str()
}

/// Returns the entry of a finding in the list of those that are folded into an observed one.
pub fn line(finding: &Finding) -> Value {
    let locations: Vec<&str> = finding.locations.iter().flatten().map(String::as_str).collect();
    let objects = finding.objects.join(", ");
    serde_json::json!({"id": finding.id, "text": format!("{objects} at {}", locations.join(", "))})
}

/// Adds the names of the findings that are folded into an observed one, with their locations.
pub fn set_folded(finding: &mut Finding, folded: Vec<Value>) {
    if !folded.is_empty() {
        finding.extra.insert("folded".to_owned(), Value::from(folded));
    }
}

/// Returns the findings that are folded into an observed one, a line each.
pub(crate) fn folded(finding: &Finding) -> Vec<String> {
    let list = finding.extra.get("folded").and_then(Value::as_array);
    let line = |v: &Value| {
        let (id, text) = (v.get("id")?.as_str()?, v.get("text")?.as_str()?);
        Some(format!("{id}: {text}"))
    };
    list.into_iter().flatten().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use foretell_trace::text;

    use super::*;

    #[test]
    fn finding_has_the_last_events_of_its_threads() {
        let source = "#! meta observed=crash\n#! meta observed message=SIGSEGV in f at a.c:3\n\
                      #! meta observed thread T1=gets SIGSEGV in f at a.c:3\n#! meta seed=7\n\
                      #! meta command=./a\nT1|w(x)|a.c:1\nT2|w(x)|a.c:2\nT1|w(x)|a.c:3\nT2|w(x)\n";
        let trace = text::parse(source.as_bytes()).unwrap().trace;
        let finding = finding(&trace).unwrap();
        assert_eq!((finding.kind, &finding.events[..]), (FindingKind::Observed, &[2][..]));
        assert_eq!(finding.locations, [Some("a.c:3".to_owned())]);
        let failure = Failure::read(&finding).unwrap();
        assert_eq!(failure.headline(), "The recorded run crashed: SIGSEGV in f at a.c:3");
        assert_eq!(failure.repeat().unwrap(), "foretell record --seed 7 -- ./a");
        let json = serde_json::to_string(&finding).unwrap();
        let back: Finding = serde_json::from_str(&json).unwrap();
        assert_eq!(Failure::read(&back), Some(failure));
    }
}
