//! The distinct outcomes of the runs of an exploration.

use std::collections::HashMap;

use foretell_trace::FailureKind;

use super::followed::FollowedRun;

/// One outcome of a program, and the runs that had it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// End of the program: `exit 0`, `signal 6`, `deadlock`.
    pub ended: String,
    /// The failure in one line, if it is one.
    pub failure: Option<String>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Number of runs.
    pub runs: u64,
    /// Number of the first of them, from 1.
    pub first: u64,
    /// The schedule that the first of them followed; `None` if it ran freely.
    pub schedule: Option<String>,
}

/// Outcomes in the order in which they came.
#[derive(Default, Debug)]
pub(crate) struct Outcomes {
    pub(crate) list: Vec<Outcome>,
    by_key: HashMap<(String, Option<String>, Vec<u8>), usize>,
}

impl Outcomes {
    /// Adds the outcome of run `number`. Returns whether it is new.
    pub(crate) fn add(
        &mut self,
        number: u64,
        followed: &FollowedRun,
        schedule: Option<&str>,
    ) -> bool {
        let FollowedRun { run, failure, .. } = followed;
        let ended = match failure {
            Some(failure) if failure.kind == FailureKind::Deadlock => "deadlock".to_owned(),
            _ => run.ended(),
        };
        let message = failure.as_ref().map(|f| format!("{}: {}", f.kind, f.message));
        let key = (ended, message, run.stdout());
        if let Some(&i) = self.by_key.get(&key) {
            self.list[i].runs += 1;
            return false;
        }
        self.by_key.insert(key.clone(), self.list.len());
        let (ended, failure, stdout) = key;
        let schedule = schedule.map(str::to_owned);
        self.list.push(Outcome { ended, failure, stdout, runs: 1, first: number, schedule });
        true
    }

    /// Whether the first run ended with exit status 0.
    pub(crate) fn first_ended_well(&self) -> bool {
        self.list.first().is_some_and(|o| o.ended == "exit 0" && o.failure.is_none())
    }
}
