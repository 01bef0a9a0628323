//! Trace of a translation, packed or whole.

use std::borrow::Cow;

use foretell_trace::binary::Packed;
use foretell_trace::io::Content;
use foretell_trace::{Trace, TraceBuilder};

/// The trace of a run.
#[derive(Clone, Debug)]
pub enum TraceOutput {
    /// Packed while its events were written.
    Packed(Packed),
    /// Not packed: a trace that was repaired, or that is not written in order.
    Whole(Trace),
}

impl Default for TraceOutput {
    /// Returns the trace without events.
    fn default() -> TraceOutput {
        TraceOutput::Whole(Trace::default())
    }
}

impl TraceOutput {
    /// Returns the number of events.
    pub fn len(&self) -> usize {
        match self {
            TraceOutput::Packed(packed) => packed.len(),
            TraceOutput::Whole(trace) => trace.len(),
        }
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the names of the trace; its events may be missing.
    pub fn names(&self) -> &Trace {
        match self {
            TraceOutput::Packed(packed) => packed.names(),
            TraceOutput::Whole(trace) => trace,
        }
    }

    /// Returns the whole trace.
    pub fn whole(&self) -> Cow<'_, Trace> {
        match self {
            TraceOutput::Packed(packed) => Cow::Owned(packed.unpack()),
            TraceOutput::Whole(trace) => Cow::Borrowed(trace),
        }
    }

    /// Returns the trace.
    pub fn into_whole(self) -> Trace {
        match self {
            TraceOutput::Packed(packed) => packed.unpack(),
            TraceOutput::Whole(trace) => trace,
        }
    }

    /// Sets a property of the execution as a whole; see [`Trace::meta`].
    pub fn set_meta(&mut self, key: &str, value: &str) {
        match self {
            TraceOutput::Packed(packed) => packed.set_meta(key, value),
            TraceOutput::Whole(trace) => {
                let mut builder: TraceBuilder = std::mem::take(trace).into_builder();
                builder.set_meta(key, value);
                *trace = builder.build();
            }
        }
    }
}

impl<'a> From<&'a TraceOutput> for Content<'a> {
    fn from(output: &'a TraceOutput) -> Self {
        match output {
            TraceOutput::Packed(packed) => packed.into(),
            TraceOutput::Whole(trace) => trace.into(),
        }
    }
}
