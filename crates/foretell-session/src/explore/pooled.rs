//! Work items of an exploration that a pool runs.
//!
//! The results come to the state directory. The exploration takes them from there when their turn
//! comes, so that they are the same as without a pool.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;

use foretell_build::ScratchDirectory;
use foretell_explore::Lead;
use foretell_launch::{Launch, SignalGuard};
use foretell_translate::Blocks;
use serde_json::json;

use super::RealExploration;
use super::followed::{Followed, follow_to_end};
use super::state_directory::{StateDirectory, write_result};
use crate::Error;
use crate::pool::{Job, Pool, files_of};

/// Leads that are looked at, for each item that the pool has at a time.
const LOOK_AHEAD: usize = 2;
/// Leads are looked at when the pool lacks one in so many of its items: each look costs time.
const REFILLS: usize = 4;

/// The pool of an exploration.
#[derive(Debug)]
pub(super) struct PooledRuns {
    pool: Pool,
    /// Number of the item, by schedule; until its turn.
    items: HashMap<String, u64>,
    /// Hashes of the leads that were looked at.
    seen: HashSet<u64>,
}

/// Returns a state directory that lasts as long as the exploration.
pub(super) fn fleeting_state(
    identity: &str,
) -> Result<(StateDirectory, Option<ScratchDirectory>), Error> {
    let parent = std::env::temp_dir();
    let scratch =
        ScratchDirectory::new_in(&parent, "foretell-runs-").map_err(Error::file(&parent))?;
    Ok((StateDirectory::open(scratch.path(), identity)?, Some(scratch)))
}

impl RealExploration {
    /// Returns the result of a work item from the pool, which other items keep busy meanwhile.
    pub(super) fn obtain_from_pool(
        &mut self,
        launch: &Launch,
        blocks: &Blocks,
        schedule: &str,
    ) -> Result<Followed, Error> {
        let (Some(path), Some(state)) = (&self.pool, &self.state) else {
            return follow_to_end(launch, blocks, schedule);
        };
        let mut pooled = match self.pooled.take() {
            Some(pooled) => pooled,
            None => {
                let pool = Pool::connect(path, &Job::new(launch, blocks), &files_of(launch))?;
                PooledRuns { pool, items: HashMap::new(), seen: HashSet::new() }
            }
        };
        let signals = SignalGuard::new();
        let before = signals.requests();
        pooled.request(state, schedule)?;
        let progress = self.explorer.progress();
        pooled.pool.show(json!({
            "runs": progress.runs, "prefixes open": progress.open, "findings": self.findings,
        }));
        let mut id = pooled.items.remove(schedule);
        let followed = loop {
            self.run_ahead(&mut pooled, state)?;
            if let Some(id) = id {
                pooled.pool.want(id)?;
                while !pooled.pool.is_done(id)? {
                    if signals.requests() > before {
                        return Ok(Followed::Interrupted);
                    }
                    self.run_ahead(&mut pooled, state)?;
                }
                pooled.pool.answer(id)?;
            }
            match (state.load(schedule), id) {
                (Some(followed), _) => break followed,
                (None, Some(_)) => {
                    let path = state.of(schedule).display().to_string();
                    return Err(Error::Unsupported(format!(
                        "{path}: the pool put no result there"
                    )));
                }
                // Damaged: what is there could not be read.
                (None, None) => id = Some(pooled.submit(state, schedule)?),
            }
        };
        self.pooled = Some(pooled);
        Ok(followed)
    }

    /// Sends the items of leads that will probably come next, if the pool lacks items.
    fn run_ahead(&self, pooled: &mut PooledRuns, state: &StateDirectory) -> Result<(), Error> {
        let capacity = pooled.pool.capacity();
        if pooled.pool.free() * REFILLS < capacity {
            return Ok(());
        }
        // No more than may still count.
        let runs_left = self.explorer.runs_left().saturating_sub(1);
        let most = (LOOK_AHEAD * capacity).min(runs_left);
        for lead in self.explorer.upcoming(most) {
            if pooled.seen.insert(hash_of(&lead)) {
                pooled.request(state, &self.schedule(&lead))?;
            }
            if pooled.pool.free() == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl PooledRuns {
    /// Sends a work item to the pool, unless it has been there or has a result.
    fn request(&mut self, state: &StateDirectory, schedule: &str) -> Result<(), Error> {
        if !self.items.contains_key(schedule) && !state.has(schedule) {
            let id = self.submit(state, schedule)?;
            self.items.insert(schedule.to_owned(), id);
        }
        Ok(())
    }

    /// Sends a work item to the pool. Returns its number.
    fn submit(&self, state: &StateDirectory, schedule: &str) -> Result<u64, Error> {
        let into = state.of(schedule);
        let into = std::path::absolute(&into).unwrap_or(into);
        self.pool.submit(&json!({"run": schedule, "into": into}), &[])
    }
}

/// Runs the program along a schedule, and writes the result to a directory. Returns whether there
/// is one: an interrupted run has none.
pub(crate) fn run_to_directory(
    launch: &Launch,
    blocks: &Blocks,
    schedule: &str,
    place: &Path,
) -> Result<bool, Error> {
    write_result(place, schedule, &follow_to_end(launch, blocks, schedule)?)
}

fn hash_of(lead: &Lead) -> u64 {
    let Lead { run, events, flipped, then, .. } = lead;
    BuildHasherDefault::<DefaultHasher>::default().hash_one((run, events, flipped, then))
}
