//! The state of an exploration in a directory, so that it can go on after it was killed.
//!
//! | file | content |
//! |---|---|
//! | `exploration.json` | format, and the identity of program, arguments, input and seed |
//! | `lock` | locked by the process that explores |
//! | `program` | the program, if it was built from sources |
//! | `runs/KEY/` | the result of one work item; KEY is the hash of its schedule |
//! | `runs/KEY/schedule` | the work item: the schedule to drive the program along |
//! | `runs/KEY/result.json` | how the run ended |
//! | `runs/KEY/trace.ft`, `trace.ft.steps` | the trace of the run |
//! | `runs/KEY/stdout`, `stderr`, `unexplored.*` | output, if there is any; notes of the runtime |
//! | `frontier.json` | the work items that come next, the most promising first |
//!
//! An exploration is a function of the results of its work items. So these are all that has to
//! survive: `--resume` explores from the start and takes the result of a work item from the
//! directory where there is one. A result appears by one `rename`, whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use foretell_explore::Pending;
use foretell_launch::Run;
use foretell_trace::io::ReadOptions;
use foretell_trace::{CondId, EventId, LockId, RunFailure, SemId, ThreadId};
use serde_json::{Value, json};

use super::followed::{Followed, FollowedRun};
use crate::replay::load_steps;
use crate::{Error, save_trace};

/// Format of the directory.
const FORMAT: &str = "foretell-exploration/1";

/// A directory with the state of an exploration.
#[derive(Debug)]
pub(crate) struct StateDirectory {
    path: PathBuf,
    /// Held while this process explores.
    _lock: File,
}

impl StateDirectory {
    /// Opens a directory, or begins one. `identity` says which program is explored, and how.
    pub(crate) fn open(path: &Path, identity: &str) -> Result<StateDirectory, Error> {
        let runs = path.join("runs");
        fs::create_dir_all(&runs).map_err(Error::file(&runs))?;
        let lock_path = path.join("lock");
        let lock = File::create(&lock_path).map_err(Error::file(&lock_path))?;
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            let shown = path.display();
            return Err(Error::Unsupported(format!("{shown}: another process explores here")));
        }
        let about = path.join("exploration.json");
        match fs::read(&about) {
            Ok(bytes) => {
                let known: Value = serde_json::from_slice(&bytes).unwrap_or_default();
                if known["format"] != FORMAT {
                    let shown = about.display();
                    return Err(Error::Unsupported(format!("{shown}: not a known exploration")));
                }
                if known["program"] != identity {
                    return Err(Error::Unsupported(format!(
                        "{}: the exploration of another program, input or seed; take a new \
                         directory",
                        path.display()
                    )));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let value = json!({"format": FORMAT, "program": identity});
                replace(&about, value.to_string().as_bytes()).map_err(Error::file(&about))?;
            }
            Err(error) => return Err(Error::file(&about)(error)),
        }
        for entry in fs::read_dir(&runs).map_err(Error::file(&runs))?.flatten() {
            // Results that a killed process had not finished.
            if entry.file_name().to_string_lossy().starts_with('.') {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        Ok(StateDirectory { path: path.to_path_buf(), _lock: lock })
    }

    /// Returns the directory of the result of a work item.
    pub(crate) fn of(&self, schedule: &str) -> PathBuf {
        self.path.join("runs").join(format!("{:016x}", hash(schedule.as_bytes())))
    }

    /// Whether the directory has a result of the work item.
    pub(crate) fn has(&self, schedule: &str) -> bool {
        let known = fs::read(self.of(schedule).join("schedule"));
        known.is_ok_and(|known| known == schedule.as_bytes())
    }

    /// Returns the result of a work item, if the directory has it.
    pub(crate) fn load(&self, schedule: &str) -> Option<Followed> {
        let directory = self.of(schedule);
        let same = fs::read(directory.join("schedule")).ok()? == schedule.as_bytes();
        let bytes = fs::read(directory.join("result.json")).ok().filter(|_| same)?;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        if let Some(why) = value["departed"].as_str() {
            return Some(Followed::Departed(why.to_owned()));
        }
        let status = i32::try_from(value["status"].as_i64()?).ok()?;
        let run = Run::restore(&directory, status, value["java"].as_bool()?);
        let path = directory.join("trace.ft");
        let trace = foretell_trace::io::load(&path, &ReadOptions::default()).ok()?.trace;
        let steps = load_steps(&path, &trace).ok()?;
        let failure = RunFailure::of(&trace);
        let pending = value["pending"].as_array()?.iter().map(read_pending);
        let limited = value["limited"].as_array()?.iter();
        Some(Followed::Run(Box::new(FollowedRun {
            run,
            steps,
            failure,
            cut_short: value["cut_short"].as_str().map(str::to_owned),
            pending: pending.collect::<Option<_>>()?,
            limited: limited.filter_map(|e| Some(EventId(e.as_u64()? as u32))).collect(),
            trace: Arc::new(trace),
        })))
    }

    /// Commits the result of a work item.
    pub(crate) fn store(&self, schedule: &str, followed: &Followed) -> Result<(), Error> {
        let target = self.of(schedule);
        let runs = self.path.join("runs");
        let scratch = tempfile::Builder::new().prefix(".new-").tempdir_in(&runs);
        let scratch = scratch.map_err(Error::file(&runs))?;
        let path = scratch.path();
        if !write_result(path, schedule, followed)? {
            return Ok(());
        }
        match fs::rename(path, &target) {
            Ok(()) => {
                // The directory has its name, and is no temporary one any more.
                let _ = scratch.keep();
                Ok(())
            }
            // Damaged: what is there could not be read.
            Err(_) if target.exists() => {
                fs::remove_dir_all(&target).map_err(Error::file(&target))?;
                fs::rename(path, &target).map_err(Error::file(&target))?;
                let _ = scratch.keep();
                Ok(())
            }
            Err(error) => Err(Error::file(&target)(error)),
        }
    }

    /// Writes the work items that come next.
    pub(crate) fn write_frontier(&self, schedules: &[String]) -> Result<(), Error> {
        let path = self.path.join("frontier.json");
        let value = json!({"format": FORMAT, "next": schedules});
        replace(&path, value.to_string().as_bytes()).map_err(Error::file(&path))
    }
}

/// Writes the files of a result to a directory. Returns whether it is one: an interrupted run is not.
pub(crate) fn write_result(
    path: &Path,
    schedule: &str,
    followed: &Followed,
) -> Result<bool, Error> {
    let write = |name: &str, bytes: &[u8]| {
        let file = path.join(name);
        fs::write(&file, bytes).map_err(Error::file(&file))
    };
    let value = match followed {
        Followed::Interrupted => return Ok(false),
        Followed::Departed(why) => json!({"departed": why}),
        Followed::Run(followed) => {
            let FollowedRun { run, trace, steps, cut_short, pending, limited, .. } = &**followed;
            run.save(path).map_err(Error::file(path))?;
            save_trace(&**trace, steps, &path.join("trace.ft"))?;
            let pending: Vec<Value> = pending.iter().map(write_pending).collect();
            let limited: Vec<u32> = limited.iter().map(|e| e.0).collect();
            json!({
                "status": run.status.into_raw(),
                "java": run.java,
                "cut_short": cut_short,
                "pending": pending,
                "limited": limited,
            })
        }
    };
    write("schedule", schedule.as_bytes())?;
    write("result.json", value.to_string().as_bytes())?;
    Ok(true)
}

/// Replaces the content of a file, at once.
fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(directory)?;
    file.write_all(content)?;
    file.persist(path)?;
    Ok(())
}

/// Returns a hash that stays the same from version to version: FNV-1a.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn write_pending(&(thread, pending): &(ThreadId, Pending)) -> Value {
    let (kind, object, lock) = match pending {
        Pending::Acquire(lock) => ("acquire", lock.0, 0),
        Pending::AcquireShared(lock) => ("acquire-shared", lock.0, 0),
        Pending::Woken(cond, lock) => ("woken", cond.0, lock.0),
        Pending::EndOfWait(cond, lock) => ("end-of-wait", cond.0, lock.0),
        Pending::Down(sem) => ("down", sem.0, 0),
        Pending::Join(thread) => ("join", thread.0, 0),
    };
    json!([thread.0, kind, object, lock])
}

fn read_pending(value: &Value) -> Option<(ThreadId, Pending)> {
    let number = |i: usize| u32::try_from(value[i].as_u64()?).ok();
    let object = number(2)?;
    let pending = match value[1].as_str()? {
        "acquire" => Pending::Acquire(LockId(object)),
        "acquire-shared" => Pending::AcquireShared(LockId(object)),
        "woken" => Pending::Woken(CondId(object), LockId(number(3)?)),
        "end-of-wait" => Pending::EndOfWait(CondId(object), LockId(number(3)?)),
        "down" => Pending::Down(SemId(object)),
        "join" => Pending::Join(ThreadId(object)),
        _ => return None,
    };
    Some((ThreadId(number(0)?), pending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_program_and_second_process_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let open = |identity| StateDirectory::open(directory.path(), identity);
        let state = open("a").unwrap();
        let message = open("a").unwrap_err().to_string();
        assert!(message.contains("another process explores here"), "{message}");
        drop(state);
        let message = open("b").unwrap_err().to_string();
        assert!(message.contains("another program"), "{message}");
        open("a").unwrap();
    }

    #[test]
    fn departures_are_kept_and_damaged_results_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDirectory::open(directory.path(), "a").unwrap();
        let load = || state.load("s");
        assert!(load().is_none());
        state.store("s", &Followed::Departed("why".to_owned())).unwrap();
        assert!(matches!(load(), Some(Followed::Departed(why)) if why == "why"));
        std::fs::write(state.of("s").join("result.json"), "{").unwrap();
        assert!(load().is_none());
        state.store("s", &Followed::Departed("how".to_owned())).unwrap();
        assert!(matches!(load(), Some(Followed::Departed(how)) if how == "how"));
    }
}
