//! Schedules that drive a program along a witness to a goal.

use std::collections::BTreeMap;

use foretell_rt_format::{Act, Schedule, ScheduledStep, Step};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Steps;

/// State that a replay is to reach, as events of the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Goal {
    /// Two threads stand before these events at the same time: a race.
    Together([u32; 2]),
    /// Every event of the witness has run, these among them.
    Along(Vec<u32>),
    /// The threads of these events wait in them, all at the same time: a deadlock.
    Blocked(Vec<u32>),
    /// Every event of the witness has run, and no thread can run: those of these events wait in
    /// them, and the others have ended. A hang.
    Stuck(Vec<u32>),
}

impl Goal {
    /// Returns the events.
    pub fn events(&self) -> &[u32] {
        match self {
            Goal::Together(events) => events,
            Goal::Along(events) | Goal::Blocked(events) | Goal::Stuck(events) => events,
        }
    }
}

/// A schedule for a goal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The schedule.
    pub schedule: Schedule,
    /// Events of the goal, with the indices of the steps of the schedule that reach them. An event
    /// that is no step of the program, or not in the witness, is not among them.
    pub reached: Vec<(u32, u64)>,
}

/// A step by its thread and its ordinal.
type StepKey = (u32, u64);

fn key(step: &Step) -> StepKey {
    (step.thread, step.ordinal)
}

impl Steps {
    /// Returns the schedule that drives the program along these events to the goal. Several events
    /// that are one step of the program run at the first of them, those of a race at the last. A
    /// joined thread runs to its end before.
    pub fn plan(&self, events: &[u32], goal: &Goal) -> Plan {
        let mut planner = Planner::of(self);
        let of = |event: u32| self.events.get(event as usize);
        let wanted: FxHashSet<StepKey> =
            goal.events().iter().filter_map(|&event| of(event)).map(|s| key(&s)).collect();
        let is_wanted = |event: u32| of(event).is_some_and(|step| wanted.contains(&key(&step)));
        match goal {
            Goal::Together(pair) => {
                let (last, before): (Vec<u32>, Vec<u32>) =
                    events.iter().partition(|&&event| is_wanted(event));
                before.iter().for_each(|&event| planner.run(event));
                // In the order of the events, which may be either.
                let last: Vec<u32> = last.into_iter().filter(|e| pair.contains(e)).collect();
                last.iter().for_each(|&event| planner.reach(event));
                last.iter().for_each(|&event| planner.run(event));
            }
            Goal::Along(_) => {
                for &event in events {
                    if is_wanted(event) {
                        planner.reach(event);
                    }
                    planner.run(event);
                }
            }
            Goal::Blocked(waiting) => {
                events.iter().for_each(|&event| planner.run(event));
                waiting.iter().for_each(|&event| planner.block(event));
            }
            // The threads go on freely after the last event, and must get no further.
            Goal::Stuck(_) => events.iter().for_each(|&event| planner.run(event)),
        }
        planner.finish(goal)
    }
}

/// A schedule under construction.
struct Planner<'a> {
    steps: &'a Steps,
    last: FxHashMap<u32, &'a Step>,
    joins: FxHashMap<u32, u32>,
    /// First ordinal of each thread that has not run.
    next: FxHashMap<u32, u64>,
    scheduled: Vec<ScheduledStep>,
    /// Indices of the steps in the schedule that reach a step.
    reached: FxHashMap<StepKey, u64>,
}

impl<'a> Planner<'a> {
    fn of(steps: &'a Steps) -> Self {
        Planner {
            steps,
            last: steps.last.iter().map(|s| (s.thread, s)).collect(),
            joins: steps.joins.iter().copied().collect(),
            next: FxHashMap::default(),
            scheduled: Vec::new(),
            reached: FxHashMap::default(),
        }
    }

    /// Lets an event run.
    fn run(&mut self, event: u32) {
        let Some(step) = self.steps.events.get(event as usize) else { return };
        let joined = self.joins.get(&event).and_then(|thread| self.last.get(thread).copied());
        for step in joined.into_iter().copied().chain([step]) {
            let next = self.next.entry(step.thread).or_insert(0);
            if step.ordinal >= *next {
                *next = step.ordinal + 1;
                self.scheduled.push(ScheduledStep { act: Act::Run, step });
            }
        }
    }

    /// Lets the thread of an event run up to the event, unless it has been there.
    fn reach(&mut self, event: u32) {
        let Some(step) = self.steps.events.get(event as usize) else { return };
        if step.ordinal >= self.next.get(&step.thread).copied().unwrap_or(0) {
            self.push_goal(Act::Reach, step);
        }
    }

    /// Lets the thread of an event run until it waits in it.
    fn block(&mut self, event: u32) {
        let Some(step) = self.steps.events.get(event as usize) else { return };
        self.next.insert(step.thread, step.ordinal + 1);
        self.push_goal(Act::Block, step);
    }

    fn push_goal(&mut self, act: Act, step: Step) {
        if let std::collections::hash_map::Entry::Vacant(entry) = self.reached.entry(key(&step)) {
            entry.insert(self.scheduled.len() as u64);
            self.scheduled.push(ScheduledStep { act, step });
        }
    }

    fn finish(self, goal: &Goal) -> Plan {
        let mut holds: BTreeMap<u32, u64> = BTreeMap::new();
        for step in self.steps.events.iter().flatten() {
            if step.ordinal >= self.next.get(&step.thread).copied().unwrap_or(0) {
                let hold = holds.entry(step.thread).or_insert(step.ordinal);
                *hold = step.ordinal.min(*hold);
            }
        }
        let index = |event: u32| {
            let step = self.steps.events.get(event as usize)?;
            Some((event, *self.reached.get(&key(&step))?))
        };
        let reached = goal.events().iter().filter_map(|&event| index(event)).collect();
        let schedule = Schedule {
            modules: self.steps.modules.clone(),
            threads: self.steps.threads.clone(),
            holds: holds.into_iter().collect(),
            steps: self.scheduled,
            first: None,
        };
        Plan { schedule, reached }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_rt_format::Kind;

    fn step(thread: u32, ordinal: u64) -> Option<Step> {
        Some(Step { thread, ordinal, kind: Kind::Read, place: Some((0, 77)) })
    }

    fn steps(events: Vec<Option<Step>>) -> Steps {
        Steps { events: events.into_iter().collect(), ..Steps::default() }
    }

    fn lines(plan: &Plan) -> Vec<(Act, u32, u64)> {
        let scheduled = plan.schedule.steps.iter();
        scheduled.map(|s| (s.act, s.step.thread, s.step.ordinal)).collect()
    }

    #[test]
    fn events_of_one_step_are_scheduled_once() {
        let steps = steps(vec![step(0, 5), step(0, 5), step(1, 0), None, step(0, 9)]);
        let plan = steps.plan(&[0, 2, 1, 3, 4], &Goal::Along(Vec::new()));
        assert_eq!(lines(&plan), [(Act::Run, 0, 5), (Act::Run, 1, 0), (Act::Run, 0, 9)]);
        assert!(plan.reached.is_empty() && plan.schedule.holds.is_empty());
    }

    #[test]
    fn joined_thread_runs_to_its_end() {
        let mut steps = steps(vec![step(1, 0), step(0, 5)]);
        (steps.last, steps.joins) = (step(1, 7).into_iter().collect(), vec![(1, 1)]);
        let plan = steps.plan(&[0, 1], &Goal::Along(Vec::new()));
        assert_eq!(lines(&plan), [(Act::Run, 1, 0), (Act::Run, 1, 7), (Act::Run, 0, 5)]);
    }

    #[test]
    fn both_threads_are_reached_before_either_goes_on() {
        // Events 1 and 2 are one step; the race is about the second of them.
        let steps = steps(vec![step(0, 1), step(0, 4), step(0, 4), step(1, 3), step(2, 6)]);
        let plan = steps.plan(&[0, 1, 3, 2], &Goal::Together([2, 3]));
        let (reach, run) = (Act::Reach, Act::Run);
        let expected = [(run, 0, 1), (reach, 1, 3), (reach, 0, 4), (run, 1, 3), (run, 0, 4)];
        assert_eq!(lines(&plan), expected);
        assert_eq!(plan.reached, [(2, 2), (3, 1)]);
        assert_eq!(plan.schedule.holds, [(2, 6)]);
    }

    #[test]
    fn events_are_reached_on_the_way() {
        let steps = steps(vec![step(0, 1), step(0, 1), step(1, 3), None]);
        let plan = steps.plan(&[0, 2, 1, 3], &Goal::Along(vec![1, 2, 3]));
        let (reach, run) = (Act::Reach, Act::Run);
        assert_eq!(lines(&plan), [(reach, 0, 1), (run, 0, 1), (reach, 1, 3), (run, 1, 3)]);
        assert_eq!(plan.reached, [(1, 0), (2, 2)]);
    }

    #[test]
    fn threads_are_free_to_go_on_after_the_last_event_before_a_hang() {
        let steps = steps(vec![step(0, 1), step(1, 4), step(0, 2)]);
        let plan = steps.plan(&[0, 1], &Goal::Stuck(vec![2]));
        assert_eq!(lines(&plan), [(Act::Run, 0, 1), (Act::Run, 1, 4)]);
        assert!(plan.reached.is_empty());
    }

    #[test]
    fn threads_block_after_the_last_event() {
        let steps = steps(vec![step(0, 1), step(0, 2), step(0, 3), step(1, 1), step(1, 2)]);
        let plan = steps.plan(&[0, 3], &Goal::Blocked(vec![1, 4]));
        let (block, run) = (Act::Block, Act::Run);
        assert_eq!(lines(&plan), [(run, 0, 1), (run, 1, 1), (block, 0, 2), (block, 1, 2)]);
        assert_eq!(plan.schedule.holds, [(0, 3)]);
    }
}
