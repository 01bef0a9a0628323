//! A recorded trace, packed where nobody needed it otherwise.

use std::borrow::Cow;

use foretell_trace::binary::Packed;
use foretell_trace::io::Content;
use foretell_trace::{Trace, TraceBuilder};

/// The trace of a run.
#[derive(Clone, Debug)]
pub enum Kept {
    /// Packed as its events came.
    Packed(Packed),
    /// As it is: it was looked at, or mended.
    Whole(Trace),
}

impl Kept {
    /// How many events there are.
    pub fn len(&self) -> usize {
        match self {
            Kept::Packed(packed) => packed.len(),
            Kept::Whole(trace) => trace.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Everything but the events, which may be there or not.
    pub fn names(&self) -> &Trace {
        match self {
            Kept::Packed(packed) => packed.names(),
            Kept::Whole(trace) => trace,
        }
    }

    /// The trace.
    pub fn whole(&self) -> Cow<'_, Trace> {
        match self {
            Kept::Packed(packed) => Cow::Owned(packed.unpack()),
            Kept::Whole(trace) => Cow::Borrowed(trace),
        }
    }

    /// Says something about the execution as a whole; see [`Trace::meta`].
    pub fn set_meta(&mut self, key: &str, value: &str) {
        match self {
            Kept::Packed(packed) => packed.set_meta(key, value),
            Kept::Whole(trace) => {
                let mut builder: TraceBuilder = std::mem::take(trace).into_builder();
                builder.set_meta(key, value);
                *trace = builder.build();
            }
        }
    }
}

impl<'a> From<&'a Kept> for Content<'a> {
    fn from(kept: &'a Kept) -> Self {
        match kept {
            Kept::Packed(packed) => packed.into(),
            Kept::Whole(trace) => trace.into(),
        }
    }
}
