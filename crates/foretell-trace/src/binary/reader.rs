//! Reading a `.ft` file, chunk by chunk.

use std::io::Read;

use super::bytes::{Cursor, Fault};
use super::chunk::{ChunkType, Chunks, Found};
use super::exprs::ExprFacts;
use super::predict::State;
use super::{Error, decode, tables};
use crate::expr::{Sort, sorts};
use crate::{EventKind, Trace, TraceBuilder};

/// Contents of a `.ft` file.
#[derive(Debug)]
pub struct Decoded {
    /// The trace.
    pub trace: Trace,
    /// Notes for the user, such as that the file was cut off.
    pub notes: Vec<String>,
}

/// Reads a whole `.ft` file. Legality is not checked.
///
/// # Errors
/// If the input cannot be read or is not a `.ft` file that this version knows, or is damaged
/// anywhere but at its end.
pub fn read(input: impl Read) -> Result<Decoded, Error> {
    let mut reader = Reader::new(input)?;
    while reader.advance()? {
        foretell_limit::check_now();
    }
    reader.finish()
}

/// Reader of a `.ft` file, one chunk at a time.
struct Reader<R> {
    chunks: Chunks<R>,
    builder: TraceBuilder,
    state: State,
    exprs: Vec<ExprFacts>,
    notes: Vec<String>,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the file header.
    fn new(input: R) -> Result<Self, Error> {
        Ok(Reader {
            chunks: Chunks::open(input)?,
            builder: TraceBuilder::new(),
            state: State::new(),
            exprs: Vec::new(),
            notes: Vec::new(),
            ended: false,
        })
    }

    /// Takes in one more chunk; `false` if there is none.
    fn advance(&mut self) -> Result<bool, Error> {
        if self.ended {
            return Ok(false);
        }
        match self.chunks.next()? {
            Found::Chunk(kind) => {
                self.take(kind).map_err(|what| self.chunks.damaged(kind, what))?;
                if self.ended && !self.chunks.rest_is_zero()? {
                    return Err(self.chunks.damaged(kind, "bytes follow after the end"));
                }
                Ok(true)
            }
            Found::End => {
                self.cut("the recording was not finished");
                Ok(false)
            }
            Found::Cut => {
                self.cut("the file is cut off");
                Ok(false)
            }
        }
    }

    fn cut(&mut self, what: &str) {
        let (events, offset) = (self.builder.trace().len(), self.chunks.start);
        self.notes.push(format!("{what}: read {events} events, up to byte {offset}"));
        self.ended = true;
    }

    fn take(&mut self, kind: ChunkType) -> Result<(), Fault> {
        let payload = &self.chunks.payload;
        match kind {
            ChunkType::EVENTS => {
                decode::read(payload, &mut self.state, &mut self.builder, &self.exprs)
            }
            ChunkType::DONE => {
                let mut from = Cursor::new(payload);
                if from.varint()? != self.builder.trace().len() as u64 || !from.is_empty() {
                    return Err("the file does not have as many events as its end says");
                }
                self.ended = true;
                Ok(())
            }
            _ => match tables::read(kind, payload, &mut self.builder, &mut self.exprs) {
                Some(result) => result,
                None if kind.may_be_skipped() => Ok(()),
                None => Err("a type that this program does not know; a newer one is needed"),
            },
        }
    }

    /// The trace as far as it has been read, with the notes.
    fn finish(self) -> Result<Decoded, Error> {
        let trace = self.builder.build();
        check_sorts(&trace)?;
        Ok(Decoded { trace, notes: self.notes })
    }
}

/// Whether every expression that an event has is well-sorted, a condition where a condition is
/// wanted and a value where a value is. Only those: what a file that was cut off defines and does
/// not use may be over registers whose sort is not known.
fn check_sorts(trace: &Trace) -> Result<(), Error> {
    if trace.exprs().is_empty() {
        return Ok(());
    }
    let sorts = sorts(trace);
    for event in trace.events() {
        foretell_limit::check();
        let (expr, wants_truth) = match event.kind {
            EventKind::Guard { expr } => (expr, true),
            EventKind::Write { expr: Some(expr), .. }
            | EventKind::Update { expr: Some(expr), .. } => (expr, false),
            _ => continue,
        };
        let sort = sorts.get(expr.index()).copied().flatten();
        if sort.is_none_or(|sort| (sort == Sort::Bool) != wants_truth) {
            let what = "its expression is ill-sorted".to_owned();
            return Err(Error::Event { event: event.id.0, what });
        }
    }
    Ok(())
}
