//! Description of the analysed trace.

use std::fmt;

use foretell_trace::{Model, Op, Trace};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fingerprint::fingerprint;

/// The trace that was analysed: enough to see that a findings file and a trace belong together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TraceInfo {
    /// Path that the trace was read from.
    pub path: String,
    /// Number of events.
    pub events: u64,
    /// Number of threads.
    pub threads: u64,
    /// Number of variables.
    pub variables: u64,
    /// Number of locks.
    pub locks: u64,
    /// Number of atomic blocks.
    pub blocks: u64,
    /// The predictive model: `view`, `value` or `symbolic`.
    #[serde(with = "model_name")]
    pub model: Model,
    /// A hash of its events, in hexadecimal; absent in files that were not written by Foretell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// The process that the trace is of, if several were recorded: `worker, process 2 of 3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// Fields of later versions.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Returns the words for the process that a trace is of, if several were recorded.
pub(crate) fn process(trace: &Trace) -> Option<String> {
    let name = trace.meta().get("process")?;
    Some(match trace.meta().get("process number") {
        Some(number) => format!("{name}, process {number}"),
        None => name.clone(),
    })
}

impl TraceInfo {
    /// The description of a trace.
    pub fn new(path: impl Into<String>, trace: &Trace, model: Model) -> Self {
        TraceInfo {
            path: path.into(),
            events: trace.len() as u64,
            threads: trace.thread_count() as u64,
            variables: trace.variable_count() as u64,
            locks: trace.lock_count() as u64,
            blocks: trace.ids().filter(|&e| trace.op(e) == Op::Begin).count() as u64,
            model,
            fingerprint: Some(format!("{:016x}", fingerprint(trace))),
            process: process(trace),
            extra: Map::new(),
        }
    }

    /// Whether `trace` is the one described here; the difference, if it is not.
    pub fn describes(&self, trace: &Trace) -> Result<(), Mismatch> {
        let other = TraceInfo::new("", trace, self.model);
        self.same_trace(&other)
    }

    /// Whether two descriptions are of one trace, wherever it was read from and in whatever
    /// model it was analysed; the first difference, if they are not.
    pub(crate) fn same_trace(&self, other: &TraceInfo) -> Result<(), Mismatch> {
        let counts = [
            ("events", self.events, other.events),
            ("threads", self.threads, other.threads),
            ("variables", self.variables, other.variables),
            ("locks", self.locks, other.locks),
            ("blocks", self.blocks, other.blocks),
        ];
        if let Some(&(what, mine, theirs)) = counts.iter().find(|(_, a, b)| a != b) {
            return Err(Mismatch { what, mine: mine.to_string(), theirs: theirs.to_string() });
        }
        match (&self.fingerprint, &other.fingerprint) {
            (Some(mine), Some(theirs)) if mine != theirs => {
                let (mine, theirs) = (mine.clone(), theirs.clone());
                Err(Mismatch { what: "fingerprint", mine, theirs })
            }
            _ => Ok(()),
        }
    }
}

/// In what two traces differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    what: &'static str,
    mine: String,
    theirs: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            "fingerprint" => write!(f, "fingerprint {} against {}", self.mine, self.theirs),
            what => write!(f, "{} {what} against {}", self.mine, self.theirs),
        }
    }
}

/// [`Model`] by its name.
mod model_name {
    use foretell_trace::Model;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(model: &Model, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(model.name())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Model, D::Error> {
        std::borrow::Cow::<str>::deserialize(d)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(json: &str) -> serde_json::Result<TraceInfo> {
        serde_json::from_str(json)
    }

    #[test]
    fn the_model_is_a_word() {
        let text = r#"{"path":"a","events":1,"threads":1,"variables":1,"locks":0,"blocks":0,"model":"value"}"#;
        assert_eq!(info(text).unwrap().model, Model::Value);
        assert_eq!(serde_json::to_string(&info(text).unwrap()).unwrap(), text);
        let error = info(&text.replace("\"value\"", "\"valu\"")).unwrap_err().to_string();
        assert!(error.contains("no model is called `valu`"), "{error}");
    }

    #[test]
    fn the_first_difference_is_named() {
        let a = TraceInfo::new("a", &Trace::default(), Model::View);
        let mut b = TraceInfo::new("b", &Trace::default(), Model::View);
        assert_eq!(a.same_trace(&b), Ok(()));
        b.fingerprint = Some("1".to_owned());
        assert!(a.same_trace(&b).unwrap_err().to_string().starts_with("fingerprint "));
        b.fingerprint = None;
        assert_eq!(a.same_trace(&b), Ok(()));
        b.locks = 2;
        assert_eq!(a.same_trace(&b).unwrap_err().to_string(), "0 locks against 2");
    }
}
