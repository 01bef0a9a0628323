//! Steps of the program behind the events of a trace, from which a replay makes its schedule.
//!
//! They are in a file beside the trace, `TRACE.steps`, Zstandard-compressed. It begins with lines
//! of text:
//!
//! | line | content |
//! |---|---|
//! | `foretell-steps 3` | format and version; version 2 has no line `id` |
//! | `id ID` | the recording's identifier, which its trace has too |
//! | modules, origins of threads | as in a schedule |
//! | `last …` | like a step: the last step of a thread that ended |
//! | `join EVENT THREAD` | a join, and the thread that it waits for |
//! | `what KIND MODULE OFFSET` | a kind of step at a location; numbered from 1 |
//! | `events N` | number of events |
//!
//! Then come the steps of the `N` events, in three columns of varints (LEB128):
//!
//! | column | content |
//! |---|---|
//! | kinds | for each event the number of its `what`; 0 for an event that is no step of its own |
//! | threads | for each run of steps of one thread its length and the thread |
//! | ordinals | for each step the difference to the ordinal of the thread's step before (zigzag) |

mod columns;
mod plan;

pub use columns::EventSteps;
use columns::What;
pub use plan::{Goal, Plan};

use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use foretell_rt_format::{Schedule, Step, ThreadOrigin};
use foretell_trace::OutputFile;
use rustc_hash::FxHasher;

use crate::Error;

/// Steps behind the events of a trace.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Steps {
    /// Identifier of the recording; its trace has it as the property [`ID`].
    pub id: Option<String>,
    /// Paths of modules.
    pub modules: Vec<String>,
    /// Origins of the threads other than the first.
    pub threads: Vec<ThreadOrigin>,
    /// Step of each event, if it is one.
    pub events: EventSteps,
    /// Last step of each thread that ended; it may come after the last event, on thread-private
    /// memory.
    pub last: Vec<Step>,
    /// Joins by the index of their events, with the threads that they wait for.
    pub joins: Vec<(u32, u32)>,
}

/// Property of a trace that holds the identifier of its recording.
pub const ID: &str = "id";
/// Property of the trace of a child of `fork`: the ordinals of the forks that lead to it.
pub const FORKED: &str = "forked";

const FIRST_LINE: &str = "foretell-steps 3";
/// First line of files without an identifier.
const FIRST_LINE_2: &str = "foretell-steps 2";
/// Maximum length of a valid file, decompressed.
const MAX_LEN: u64 = 1 << 38;
/// Maximum ratio of the length of a valid file to that of its compressed bytes, beyond
/// [`MIN_LIMIT`].
const MAX_RATIO: u64 = 500;
const MIN_LIMIT: u64 = 256 << 20;

impl Steps {
    /// Returns the path of the steps of a trace.
    pub fn path_for(trace: &Path) -> PathBuf {
        let mut name = trace.as_os_str().to_owned();
        name.push(".steps");
        PathBuf::from(name)
    }

    /// Returns the steps behind the first `events` events.
    pub(crate) fn first(&self, events: usize) -> Steps {
        let mut steps = Steps { events: EventSteps::default(), ..self.clone() };
        self.events.iter().take(events).for_each(|step| steps.events.push(step));
        steps.joins.retain(|&(event, _)| (event as usize) < events);
        steps
    }

    /// Writes the steps to a file, which gets its name when the caller commits it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<OutputFile, Error> {
        let (whats, columns) = self.events.columns();
        let write = || -> std::io::Result<OutputFile> {
            let file = std::io::BufWriter::new(OutputFile::create(path)?);
            let mut out = zstd::Encoder::new(file, 1)?;
            out.write_all(self.text(whats).as_bytes())?;
            columns.iter().try_for_each(|column| out.write_all(column))?;
            out.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)
        };
        write().map_err(Error::file(path))
    }

    /// Returns an identifier of the recording with these steps and these properties: equal
    /// recordings have equal ones.
    pub fn identify<'a>(&self, properties: impl Iterator<Item = &'a str>) -> String {
        let (whats, columns) = self.events.columns();
        let mut hash = FxHasher::default();
        // With their lengths.
        properties.for_each(|property| property.as_bytes().hash(&mut hash));
        self.text(whats).as_bytes().hash(&mut hash);
        columns.iter().for_each(|column| column.hash(&mut hash));
        format!("{:016x}", hash.finish())
    }

    /// Returns the lines before the columns.
    fn text(&self, whats: &[What]) -> String {
        let head = Schedule {
            modules: self.modules.clone(),
            threads: self.threads.clone(),
            ..Schedule::default()
        };
        let head = head.to_string();
        let mut text = format!("{FIRST_LINE}\n");
        // Writing to a string does not fail.
        if let Some(id) = &self.id {
            let _ = writeln!(text, "id {id}");
        }
        text.extend(head.split_once('\n').map(|(_, rest)| rest));
        for Step { thread, ordinal, kind, place } in &self.last {
            let _ = writeln!(text, "last {thread} {ordinal} {}", what(&(*kind, *place)));
        }
        for (event, thread) in &self.joins {
            let _ = writeln!(text, "join {event} {thread}");
        }
        for one in whats {
            let _ = writeln!(text, "what {}", what(one));
        }
        let _ = writeln!(text, "events {}", self.events.len());
        text
    }

    /// Reads the steps of a trace with this number of events, and with this identifier if it has
    /// one, from a file.
    ///
    /// # Errors
    /// When the file cannot be read, is not valid, or is that of a different recording.
    pub fn load(path: &Path, events: usize, id: Option<&str>) -> Result<Self, Error> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            let file = foretell_trace::io::open_regular(path)?;
            // A valid file has few bytes for each event, and a table of the code locations.
            let limit = MAX_LEN.min(file.metadata()?.len().saturating_mul(MAX_RATIO) + MIN_LIMIT);
            zstd::Decoder::new(file)?.take(limit).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let wrong = |what| Error::Steps(format!("{}: {what}", path.display()));
        let bytes = read().map_err(Error::file(path))?;
        let steps = Self::parse(&bytes, events).map_err(wrong)?;
        if steps.id.as_deref() != id {
            let shown = |id: Option<&str>| id.unwrap_or("none").to_owned();
            return Err(wrong(format!(
                "not of this trace: recording {} against {}; record again",
                shown(steps.id.as_deref()),
                shown(id)
            )));
        }
        Ok(steps)
    }

    /// Reads the decompressed steps of a trace with this number of events.
    ///
    /// # Errors
    /// When they are not valid: what is wrong, in one line.
    pub fn parse(bytes: &[u8], events: usize) -> Result<Self, String> {
        let mut steps = Steps::default();
        let mut whats = Vec::new();
        let mut rest = bytes;
        for i in 0.. {
            let end =
                rest.iter().position(|&b| b == b'\n').ok_or("it ends too early; record again")?;
            let line = std::str::from_utf8(&rest[..end]).map_err(|_| "not a steps file")?;
            rest = &rest[end + 1..];
            if i == 0 {
                if line != FIRST_LINE && line != FIRST_LINE_2 {
                    return Err("not a steps file of this version; record again".to_owned());
                }
                continue;
            }
            if let Some(have) = line.strip_prefix("events ") {
                if have != events.to_string() {
                    return Err(format!(
                        "not of this trace: {have} events against {events}; record again"
                    ));
                }
                break;
            }
            steps.line(line, &mut whats).map_err(|what| format!("{}: {what}", i + 1))?;
        }
        steps.events =
            EventSteps::of_columns(rest, events, whats).ok_or("it is damaged; record again")?;
        Ok(steps)
    }

    /// Takes a line before the columns.
    fn line(&mut self, line: &str, whats: &mut Vec<What>) -> Result<(), &'static str> {
        // Every other line is one of a schedule.
        if let Some(id) = line.strip_prefix("id ") {
            self.id = Some(id.to_owned());
            return Ok(());
        }
        if let Some(rest) = line.strip_prefix("join ") {
            let pair =
                rest.split_once(' ').and_then(|(e, t)| Some((e.parse().ok()?, t.parse().ok()?)));
            self.joins.push(pair.ok_or("expected `join EVENT THREAD`")?);
            return Ok(());
        }
        let (last, what) = (line.strip_prefix("last "), line.strip_prefix("what "));
        let line = match (last, what) {
            (Some(rest), _) => format!("step {rest}"),
            (_, Some(rest)) => format!("step 0 0 {rest}"),
            _ => line.to_owned(),
        };
        let one: Schedule = format!("foretell-schedule 2\n{line}")
            .parse()
            .map_err(|e: foretell_rt_format::ScheduleError| e.what)?;
        if last.is_some() {
            self.last.extend(one.steps.iter().map(|scheduled| scheduled.step));
        } else if what.is_some() {
            whats.extend(one.steps.iter().map(|s| (s.step.kind, s.step.place)));
        } else if !one.steps.is_empty() || !one.holds.is_empty() {
            return Err("expected `module`, `thread`, `last`, `join`, `what` or `events`");
        }
        self.modules.extend(one.modules);
        self.threads.extend(one.threads);
        Ok(())
    }
}

/// Returns a step's kind and location as in a schedule.
fn what((kind, place): &What) -> String {
    match place {
        Some((module, offset)) => format!("{} {module} {offset}", kind.name()),
        None => format!("{} - 0", kind.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_rt_format::Kind;

    fn step(thread: u32, ordinal: u64) -> Option<Step> {
        Some(Step { thread, ordinal, kind: Kind::Read, place: Some((0, 77)) })
    }

    #[test]
    fn saved_steps_are_loaded() {
        let steps = Steps {
            id: Some("7".to_owned()),
            modules: vec!["/a b/c".to_owned()],
            threads: vec![ThreadOrigin { thread: 1, parent: 0, nth: 0 }],
            events: [step(0, 5), None, step(1, 0), step(1, 300), step(0, 4), step(0, u64::MAX)]
                .into_iter()
                .collect(),
            last: step(1, 7).into_iter().collect(),
            joins: vec![(2, 1)],
        };
        let dir = tempfile::tempdir().unwrap();
        let path = Steps::path_for(&dir.path().join("t.ft"));
        steps.write(&path).unwrap().commit().unwrap();
        assert_eq!(Steps::load(&path, 6, Some("7")).unwrap(), steps);
        for (events, id) in [(4, Some("7")), (6, Some("8")), (6, None)] {
            let error = Steps::load(&path, events, id).unwrap_err().to_string();
            assert!(error.contains("not of this trace"), "{error}");
        }
        assert_ne!(steps.identify(["a"].into_iter()), steps.identify(["b"].into_iter()));
    }

    #[test]
    fn invalid_files_are_rejected() {
        let head = format!("{FIRST_LINE}\nwhat Read - 0\nevents 1\n");
        let with = |columns: &[u8]| Steps::parse(&[head.as_bytes(), columns].concat(), 1);
        assert_eq!(
            with(&[1, 1, 5, 6]).unwrap().events.get(0).map(|s| (s.thread, s.ordinal)),
            Some((5, 3))
        );
        // An unknown number, a missing thread, a run too long, a missing ordinal, extra bytes.
        for columns in [&[2, 1, 5, 6][..], &[1], &[1, 2, 5, 6], &[1, 1, 5], &[1, 1, 5, 6, 0]] {
            assert!(with(columns).is_err(), "{columns:?}");
        }
        for text in ["hello\n", "", "foretell-steps 1\n", "foretell-steps 3\n"] {
            assert!(Steps::parse(text.as_bytes(), 0).is_err());
        }
        for line in ["step x", "join x", "what x", "step 0 0 Read - 0"] {
            let text = format!("{FIRST_LINE}\n{line}\nevents 0\n");
            assert!(Steps::parse(text.as_bytes(), 0).is_err());
        }
    }
}
