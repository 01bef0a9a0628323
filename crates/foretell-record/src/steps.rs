//! Which step of the real program each event of a trace was: what a replay needs beside the trace.
//!
//! Kept in a file beside the trace, `TRACE.steps`: Zstandard-compressed text, first the modules and
//! the origins of the threads as in a schedule, then `last …` like a step for the last step of each thread that
//! ended and `join EVENT THREAD` for each join, then one line for each event, `step …` as in a
//! schedule, or `-` for an event that is no step of its own (a block made from a lock scope).

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use foretell_rt_format::{Schedule, Step, ThreadOrigin};

use rustc_hash::FxHashMap;

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
    /// The last step of each thread that ended: perhaps after its last event, on memory of its own.
    pub last: Vec<Step>,
    /// The events that are joins, by index, and the threads that they wait for.
    pub joins: Vec<(u32, u32)>,
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
    /// of the program are run at the first of them. A thread that is joined runs to its end before.
    pub fn schedule(&self, events: &[u32]) -> Schedule {
        let last: FxHashMap<u32, &Step> = self.last.iter().map(|s| (s.thread, s)).collect();
        let joins: FxHashMap<u32, u32> = self.joins.iter().copied().collect();
        let mut next: FxHashMap<u32, u64> = FxHashMap::default();
        let mut steps = Vec::new();
        for &event in events {
            let Some(Some(step)) = self.events.get(event as usize) else { continue };
            let joined = joins.get(&event).and_then(|thread| last.get(thread).copied());
            for step in joined.into_iter().chain([step]) {
                let next = next.entry(step.thread).or_insert(0);
                if step.ordinal >= *next {
                    *next = step.ordinal + 1;
                    steps.push(*step);
                }
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
        self.last.iter().for_each(|step| write_step(&mut text, "last", step));
        for (event, thread) in &self.joins {
            // Writing to a string does not fail.
            let _ = writeln!(text, "join {event} {thread}");
        }
        for event in &self.events {
            match event {
                Some(step) => write_step(&mut text, "step", step),
                None => text.push_str("-\n"),
            }
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
            let wrong = |what: &str| format!("{}: {what}", i + 1);
            if let Some(rest) = line.strip_prefix("join ") {
                let pair = rest
                    .split_once(' ')
                    .and_then(|(e, t)| Some((e.parse().ok()?, t.parse().ok()?)));
                steps.joins.push(pair.ok_or_else(|| wrong("expected `join EVENT THREAD`"))?);
                continue;
            }
            let last = line.strip_prefix("last ");
            let line = last.map_or_else(|| line.to_owned(), |rest| format!("step {rest}"));
            let one: Schedule = format!("foretell-schedule 1\n{line}")
                .parse()
                .map_err(|e: foretell_rt_format::ScheduleError| wrong(e.what))?;
            if last.is_some() {
                steps.last.extend(one.steps);
                continue;
            }
            steps.modules.extend(one.modules);
            steps.threads.extend(one.threads);
            steps.events.extend(one.steps.into_iter().map(Some));
        }
        Ok(steps)
    }
}

fn write_step(text: &mut String, word: &str, s: &Step) {
    // Writing to a string does not fail.
    let _ = write!(text, "{word} {} {} {}", s.thread, s.ordinal, s.kind.name());
    let _ = match s.place {
        Some((module, offset)) => writeln!(text, " {module} {offset}"),
        None => writeln!(text, " - 0"),
    };
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
            last: step(1, 7).into_iter().collect(),
            joins: vec![(2, 1)],
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
    fn a_joined_thread_runs_to_its_end() {
        let events = vec![step(1, 0), step(0, 5)];
        let last = step(1, 7).into_iter().collect();
        let steps = Steps { events, last, joins: vec![(1, 1)], ..Steps::default() };
        let order: Vec<(u32, u64)> =
            steps.schedule(&[0, 1]).steps.iter().map(|s| (s.thread, s.ordinal)).collect();
        assert_eq!(order, [(1, 0), (1, 7), (0, 5)]);
    }

    #[test]
    fn other_files_are_refused() {
        assert!(Steps::parse("hello").is_err());
        assert!(Steps::parse("foretell-steps 1\nstep x").is_err());
        assert!(Steps::parse("foretell-steps 1\njoin x").is_err());
    }
}
