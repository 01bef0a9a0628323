//! Drives a program along the witness of a finding.
//!
//! A race is two steps that are possible at the same time: both threads are driven up to them, both
//! orders run, and the worse verdict counts. Every other finding is one order of steps. A program
//! that leaves the schedule of a witness, or does not reach the finding along it, gets another
//! witness of the same finding, if there is one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use foretell_launch::{Launch, Mode, ScratchDirectory};
use foretell_rt_format::WaitingFor;
use foretell_translate::{Goal, Steps};

use crate::confirmation::Expected;
use crate::verdict::{Reference, judge};
use crate::{Error, Verdict};

/// State of the program that confirms a finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The events of the finding, and where their threads have to be.
    pub goal: Goal,
    /// Pairs of these events that have to touch the same memory.
    pub same_memory: Vec<(u32, u32)>,
    /// Events that use memory which an event before has freed.
    pub uses_freed: Vec<u32>,
    /// Threads of a hang by their numbers, with what each may wait for.
    pub stuck: Vec<(u32, Vec<WaitingFor>)>,
}

/// Settings of a replay.
#[derive(Debug)]
pub struct Replay<'a> {
    /// The program, with the settings of the recorded run.
    pub launch: &'a Launch,
    /// Steps behind the trace's events.
    pub steps: &'a Steps,
    /// End of the recorded run.
    pub reference: &'a Reference,
    /// Time limit of a run.
    pub limit: Duration,
}

/// Returns the orders of events to run for a witness whose last events are those of the finding.
pub fn orders(schedule: &[u32], is_race: bool) -> Vec<Vec<u32>> {
    let mut orders = vec![schedule.to_vec()];
    if is_race && schedule.len() >= 2 {
        let mut other = schedule.to_vec();
        let last = other.len() - 1;
        other.swap(last - 1, last);
        orders.push(other);
    }
    orders
}

impl Replay<'_> {
    /// Runs the program along some orders of events. Returns the worst verdict. `otherwise` returns
    /// another order for each, for a program that does not reach the finding along the first one.
    ///
    /// # Errors
    /// When the program cannot be run at all.
    pub fn run(
        &self,
        target: &Target,
        orders: &[Vec<u32>],
        otherwise: impl Fn() -> Vec<Vec<u32>>,
    ) -> Result<Verdict, Error> {
        let mut worst = None;
        let mut others = None;
        for (i, order) in orders.iter().enumerate() {
            let mut verdict = self.run_one(target, order)?;
            // Another order to the same end would probably hang, too, and take the limit twice.
            if !verdict.confirms() && !matches!(verdict, Verdict::Hang { .. }) {
                let others = others.get_or_insert_with(&otherwise);
                if let Some(other) = others.get(i).filter(|other| *other != order) {
                    verdict = verdict.max(self.run_one(target, other)?);
                }
            }
            worst = worst.max(Some(verdict));
        }
        worst.ok_or(Error::NothingToReplay)
    }

    /// Runs the program along one order of events. A run that reaches its time limit is repeated, and
    /// the second run decides: a program that hangs along the order does so again, one that a busy
    /// machine held up does not.
    fn run_one(&self, target: &Target, order: &[u32]) -> Result<Verdict, Error> {
        let verdict = self.run_once(target, order)?;
        match verdict {
            Verdict::Hang { .. } => self.run_once(target, order),
            _ => Ok(verdict),
        }
    }

    fn run_once(&self, target: &Target, order: &[u32]) -> Result<Verdict, Error> {
        let (launch, _schedule, expected) = self.launch_along(target, order, false)?;
        let run = launch.run()?;
        if run.interrupted {
            return Err(Error::Interrupted);
        }
        judge(&run, self.reference, self.limit.as_secs(), &expected)
    }

    /// Returns the launch along an order of events, the file of its schedule, and what the log has
    /// to say if the run reaches the finding.
    fn launch_along(
        &self,
        target: &Target,
        order: &[u32],
        stop: bool,
    ) -> Result<(Launch, ScratchDirectory, Expected), Error> {
        let directory = &self.launch.directory;
        let plan = self.steps.plan(order, &target.goal);
        let schedule = plan.schedule.to_string();
        let (scratch, schedule) = schedule_file(&self.launch.schedule_here(&schedule), directory)?;
        let mode = Mode::Replay { schedule, stop };
        let launch = Launch { mode, quiet: true, limit: Some(self.limit), ..self.launch.clone() };
        Ok((launch, scratch, Expected::of(target, &plan)))
    }

    /// Runs the program under gdb, stopped before the last step.
    ///
    /// # Errors
    /// When gdb cannot be run.
    pub fn debug(&self, target: &Target, order: &[u32]) -> Result<(), Error> {
        let (launch, _schedule, _) = self.launch_along(target, order, true)?;
        launch.debug()?;
        Ok(())
    }
}

/// Writes a schedule to a file in a new directory.
fn schedule_file(text: &str, directory: &Path) -> Result<(ScratchDirectory, PathBuf), Error> {
    let make = || -> std::io::Result<(ScratchDirectory, PathBuf)> {
        let scratch = ScratchDirectory::new_in(directory, ".foretell-")?;
        let path = scratch.path().join("schedule");
        std::fs::write(&path, text)?;
        Ok((scratch, path))
    };
    make().map_err(|source| Error::Schedule { directory: directory.to_path_buf(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn race_has_both_orders() {
        assert_eq!(orders(&[1, 2, 3], true), [vec![1, 2, 3], vec![1, 3, 2]]);
        assert_eq!(orders(&[1, 2, 3], false), [vec![1, 2, 3]]);
        assert_eq!(orders(&[1], true).len(), 1);
    }
}
