//! Which step of the real program each event of a trace was: what a replay needs beside the trace.
//!
//! Kept in a file beside the trace, `TRACE.steps`: Zstandard-compressed text, first the modules and
//! the origins of the threads as in a schedule, then one line for each event, `step …` as in a
//! schedule, or `-` for an event that is no step of its own (a block made from a lock scope).

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use foretell_rt_format::{Schedule, Step, ThreadOrigin};

use crate::Error;

/// The steps behind the events of one trace.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Steps {
    /// Paths of modules.
    pub modules: Vec<String>,
    /// Origins of the threads other than the first.
    pub threads: Vec<ThreadOrigin>,
    /// For each event its step, if it is one.
    pub events: Vec<Option<Step>>,
}

const FIRST_LINE: &str = "foretell-steps 1";
/// A text longer than this was not written by Foretell.
const LONGEST: u64 = 1 << 38;

impl Steps {
    /// Where the steps of a trace are kept.
    pub fn path_for(trace: &Path) -> PathBuf {
        let mut name = trace.as_os_str().to_owned();
        name.push(".steps");
        PathBuf::from(name)
    }

    /// The schedule that drives the program along these events. Several events that are one step
    /// of the program are run at the first of them.
    pub fn schedule(&self, events: &[u32]) -> Schedule {
        let mut next: rustc_hash::FxHashMap<u32, u64> = rustc_hash::FxHashMap::default();
        let mut steps = Vec::new();
        for &event in events {
            let Some(Some(step)) = self.events.get(event as usize) else { continue };
            let next = next.entry(step.thread).or_insert(0);
            if step.ordinal >= *next {
                *next = step.ordinal + 1;
                steps.push(*step);
            }
        }
        Schedule { modules: self.modules.clone(), threads: self.threads.clone(), steps }
    }

    /// Writes the file.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let write = || -> std::io::Result<()> {
            let file = std::fs::File::create(path)?;
            let mut out = zstd::Encoder::new(std::io::BufWriter::new(file), 3)?.auto_finish();
            std::io::Write::write_all(&mut out, self.text().as_bytes())?;
            std::io::Write::flush(&mut out)
        };
        write().map_err(Error::file(path))
    }

    fn text(&self) -> String {
        let head = Schedule {
            modules: self.modules.clone(),
            threads: self.threads.clone(),
            steps: Vec::new(),
        };
        let head = head.to_string();
        let mut text = format!("{FIRST_LINE}\n");
        text.extend(head.split_once('\n').map(|(_, rest)| rest));
        for event in &self.events {
            let Some(s) = event else {
                text.push_str("-\n");
                continue;
            };
            let place = s.place.map_or_else(|| "- 0".to_owned(), |(m, o)| format!("{m} {o}"));
            // Writing to a string does not fail.
            let _ = writeln!(text, "step {} {} {} {place}", s.thread, s.ordinal, s.kind.name());
        }
        text
    }

    /// Reads the file of a trace with so many events.
    pub fn load(path: &Path, events: usize) -> Result<Self, Error> {
        let read = || -> std::io::Result<String> {
            let mut text = String::new();
            let file = std::fs::File::open(path)?;
            zstd::Decoder::new(file)?.take(LONGEST).read_to_string(&mut text)?;
            Ok(text)
        };
        let steps = Self::parse(&read().map_err(Error::file(path))?)
            .map_err(|what| Error::Other(format!("{}: {what}", path.display())))?;
        if steps.events.len() != events {
            let path = path.display();
            let have = steps.events.len();
            return Err(Error::Other(format!(
                "{path}: not of this trace: {have} events against {events}; record again"
            )));
        }
        Ok(steps)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix(FIRST_LINE).ok_or("not a steps file")?;
        let mut steps = Steps::default();
        // Every line but `-` is one of a schedule.
        for (i, line) in rest.lines().enumerate().skip(1) {
            if line == "-" {
                steps.events.push(None);
                continue;
            }
            let one: Schedule = format!("foretell-schedule 1\n{line}")
                .parse()
                .map_err(|e: foretell_rt_format::ScheduleError| format!("{}: {}", i + 1, e.what))?;
            steps.modules.extend(one.modules);
            steps.threads.extend(one.threads);
            steps.events.extend(one.steps.into_iter().map(Some));
        }
        Ok(steps)
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
    fn what_is_saved_comes_back() {
        let steps = Steps {
            modules: vec!["/a b/c".to_owned()],
            threads: vec![ThreadOrigin { thread: 1, parent: 0, nth: 0 }],
            events: vec![step(0, 5), None, step(1, 0)],
        };
        let dir = tempfile::tempdir().unwrap();
        let path = Steps::path_for(&dir.path().join("t.ft"));
        steps.save(&path).unwrap();
        assert_eq!(Steps::load(&path, 3).unwrap(), steps);
        assert!(Steps::load(&path, 4).unwrap_err().to_string().contains("not of this trace"));
    }

    #[test]
    fn events_of_one_step_run_once() {
        let events = vec![step(0, 5), step(0, 5), step(1, 0), None, step(0, 9)];
        let steps = Steps { events, ..Steps::default() };
        let order: Vec<(u32, u64)> =
            steps.schedule(&[0, 2, 1, 3, 4]).steps.iter().map(|s| (s.thread, s.ordinal)).collect();
        assert_eq!(order, [(0, 5), (1, 0), (0, 9)]);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(Steps::parse("hello").is_err());
        assert!(Steps::parse("foretell-steps 1\nstep x").is_err());
    }
}
