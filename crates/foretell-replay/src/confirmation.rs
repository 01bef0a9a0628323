//! Confirmation of a finding: whether a replayed run reached it.
//!
//! A run that has reached the finding is a run of the real program in which the finding is there
//! for all to see, whatever the trace has missed:
//!
//! | goal | confirmed when |
//! |---|---|
//! | race | both threads stood before their accesses at the same time, of the same memory |
//! | deadlock | every thread of the cycle waited for a lock of another one, or for its end |
//! | hang | every step ran, and then no thread could go on: those of the finding waited |
//! | any other | every step of the witness ran; events that conflict touched the same memory |
//!
//! The log of a Java program tells of a step after it has run. A thread stands before its access
//! there when it has made every step before it; both accesses of a race run then, with no other
//! step between them, and must be of the same variable.

use foretell_rt_format::{Act, WaitingFor};
use foretell_translate::{Goal, Plan};

use crate::Target;
use crate::run_end::{Memory, Progress, ReachedStep, WaitingThread};

/// Marks of a run that reached the finding.
#[derive(Debug)]
pub(crate) struct Expected {
    goal: Goal,
    /// Steps of the schedule that reach the events of the goal.
    reached: Vec<(u32, u64)>,
    same_memory: Vec<(u32, u32)>,
    /// Events that use memory which was freed.
    uses_freed: Vec<u32>,
    /// Threads that have to wait.
    blocked: Vec<u32>,
    /// Threads of a hang, with what each may wait for.
    stuck: Vec<(u32, Vec<WaitingFor>)>,
    /// Whether the last step of the schedule is one that is reached.
    last_is_reached: bool,
    /// Steps of the schedule that reach a step, with its thread and its ordinal.
    reaching: Vec<(u64, (u32, u64))>,
}

impl Expected {
    pub(crate) fn of(target: &Target, plan: &Plan) -> Expected {
        let steps = &plan.schedule.steps;
        let blocked = steps.iter().filter(|s| s.act == Act::Block).map(|s| s.step.thread);
        let last_is_reached = match &steps[..] {
            [.., before, last] => before.act == Act::Reach && before.step == last.step,
            _ => false,
        };
        let reaching = (0u64..).zip(steps).filter(|(_, s)| s.act == Act::Reach);
        Expected {
            goal: target.goal.clone(),
            reached: plan.reached.clone(),
            same_memory: target.same_memory.clone(),
            uses_freed: target.uses_freed.clone(),
            blocked: blocked.collect(),
            stuck: target.stuck.clone(),
            last_is_reached,
            reaching: reaching.map(|(i, s)| (i, (s.step.thread, s.step.ordinal))).collect(),
        }
    }

    /// Returns the steps of the schedule that reach a step, with its thread and its ordinal.
    pub(crate) fn reaching(&self) -> &[(u64, (u32, u64))] {
        &self.reaching
    }

    /// Returns the threads that have to wait: those of a deadlock.
    pub(crate) fn blocked(&self) -> &[u32] {
        &self.blocked
    }

    /// Whether the finding is a hang.
    pub(crate) fn is_hang(&self) -> bool {
        matches!(self.goal, Goal::Stuck(_))
    }

    /// Returns the reason for which a run does not confirm the finding; `None` if it does.
    pub(crate) fn missed(&self, progress: &Progress) -> Option<String> {
        match &self.goal {
            Goal::Blocked(events) => self.not_blocked(events.len(), progress),
            Goal::Together(_) if self.reached.len() < 2 => {
                Some("an event of the race is no step of the program".to_owned())
            }
            Goal::Together(_) => {
                if self.reached.iter().any(|&(_, step)| progress.reached(step).is_none()) {
                    return Some("its threads were not before their accesses together".to_owned());
                }
                self.other_memory(progress)
            }
            Goal::Stuck(_) => self.not_stuck(progress),
            Goal::Along(_) => {
                let all = self.reached.iter().all(|&(_, step)| progress.reached(step).is_some());
                if !all || !(progress.steps_done || self.last_is_reached) {
                    return Some("not every step of the schedule ran".to_owned());
                }
                self.other_memory(progress).or_else(|| self.allocated_again(progress))
            }
        }
    }

    /// Returns the difference, if two events that conflict touch different memory.
    fn other_memory(&self, progress: &Progress) -> Option<String> {
        let step_of = |event: u32| {
            let step = self.reached.iter().find(|&&(reached, _)| reached == event)?.1;
            progress.reached(step)
        };
        self.same_memory.iter().find_map(|&(a, b)| {
            let (a, b) = (step_of(a)?, step_of(b)?);
            (!a.memory.overlaps(&b.memory))
                .then(|| format!("{} and {}: not the same memory", text(a), text(b)))
        })
    }

    /// Returns the use of freed memory that is in a block again: the allocator has returned the
    /// memory a second time, and the thread may well use the new block.
    fn allocated_again(&self, progress: &Progress) -> Option<String> {
        self.uses_freed.iter().find_map(|&event| {
            let step = self.reached.iter().find(|&&(reached, _)| reached == event)?.1;
            let used = progress.reached(step).filter(|used| used.is_allocated)?;
            Some(format!("{}: allocated again", text(used)))
        })
    }

    /// Returns the reason for which a run has not come to the hang of the finding.
    fn not_stuck(&self, progress: &Progress) -> Option<String> {
        if !progress.steps_done {
            return Some("not every step of the schedule ran".to_owned());
        }
        let Some(waiting) = &progress.stuck else {
            return Some("a thread could go on".to_owned());
        };
        let expected = |wait: &WaitingThread| {
            self.stuck.iter().any(|(thread, what)| {
                *thread == wait.thread
                    && (wait.what == WaitingFor::Runnable || what.contains(&wait.what))
            })
        };
        if let Some(other) = waiting.iter().find(|wait| !expected(wait)) {
            return Some(format!("thread {} did not wait for what the finding says", other.thread));
        }
        // The log of a Java run does not name the threads that only join.
        let named = |(thread, what): &&(u32, Vec<WaitingFor>)| {
            waiting.iter().any(|wait| wait.thread == *thread)
                || progress.joins_unnamed && *what == [WaitingFor::Join]
        };
        let missing = self.stuck.iter().find(|expected| !named(expected));
        missing.map(|(thread, _)| format!("thread {thread} did not wait"))
    }

    fn not_blocked(&self, events: usize, progress: &Progress) -> Option<String> {
        if self.blocked.len() < events {
            return Some("an event of the deadlock is no step of the program".to_owned());
        }
        let Some(waiting) = &progress.all_blocked else {
            return Some("its threads did not all wait at the same time".to_owned());
        };
        self.blocked.iter().find_map(|&thread| {
            let wait = waiting.iter().find(|wait| wait.thread == thread);
            let held = |holder: &u32| *holder != thread && self.blocked.contains(holder);
            let in_cycle = wait.is_some_and(|wait| match wait.what {
                WaitingFor::Lock | WaitingFor::ReadLock => wait.holders.iter().any(held),
                WaitingFor::Join => held(&(wait.object as u32)),
                _ => false,
            });
            (!in_cycle).then(|| format!("thread {thread} did not wait for one of the others"))
        })
    }
}

fn text(step: &ReachedStep) -> String {
    let touched = match &step.memory {
        Memory::Bytes { len: 0, .. } | Memory::Variable(None) => "no known memory".to_owned(),
        Memory::Bytes { addr, len: 1 } => format!("the byte at {addr:#x}"),
        Memory::Bytes { addr, len } => format!("{len} bytes at {addr:#x}"),
        Memory::Variable(Some(variable)) => variable.name.clone(),
    };
    format!("thread {} was about to touch {touched}", step.thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reached(step: u64, thread: u32, addr: u64, len: u64) -> ReachedStep {
        let memory = Memory::Bytes { addr, len };
        ReachedStep { step, thread, memory, is_allocated: false }
    }

    fn race() -> Expected {
        Expected {
            goal: Goal::Together([7, 9]),
            reached: vec![(7, 4), (9, 5)],
            same_memory: vec![(7, 9)],
            uses_freed: Vec::new(),
            blocked: Vec::new(),
            stuck: Vec::new(),
            last_is_reached: false,
            reaching: Vec::new(),
        }
    }

    #[test]
    fn race_needs_both_threads_before_the_same_memory() {
        let run =
            |reached: Vec<ReachedStep>| race().missed(&Progress { reached, ..Progress::default() });
        assert_eq!(run(vec![reached(4, 1, 100, 4), reached(5, 2, 102, 8)]), None);
        let one = run(vec![reached(4, 1, 100, 4)]);
        assert_eq!(one.unwrap(), "its threads were not before their accesses together");
        let other = run(vec![reached(4, 1, 100, 4), reached(5, 2, 104, 1)]);
        assert_eq!(
            other.unwrap(),
            "thread 1 was about to touch 4 bytes at 0x64 and thread 2 was about to touch the byte \
             at 0x68: not the same memory"
        );
        assert!(run(vec![reached(4, 1, 100, 4), reached(5, 2, 100, 0)]).is_some());
    }

    #[test]
    fn other_findings_need_every_step() {
        let reached = vec![reached(4, 1, 100, 4), reached(5, 2, 100, 4)];
        let run = |steps_done, last_is_reached| {
            let expected = Expected { goal: Goal::Along(vec![7, 9]), last_is_reached, ..race() };
            let reached = reached.clone();
            expected.missed(&Progress { reached, steps_done, ..Progress::default() })
        };
        assert_eq!([run(true, false), run(false, true)], [None, None]);
        assert_eq!(run(false, false).unwrap(), "not every step of the schedule ran");
    }

    #[test]
    fn use_of_freed_memory_needs_memory_that_is_still_free() {
        let run = |is_allocated| {
            let goal = Goal::Along(vec![7, 9]);
            let expected = Expected { goal, uses_freed: vec![9], ..race() };
            let used = ReachedStep { is_allocated, ..reached(5, 2, 100, 4) };
            let freed = ReachedStep { is_allocated: true, ..reached(4, 1, 100, 1) };
            let reached = vec![freed, used];
            expected.missed(&Progress { reached, steps_done: true, ..Progress::default() })
        };
        assert_eq!(run(false), None);
        assert!(run(true).is_some_and(|reason| reason.ends_with("allocated again")));
    }

    #[test]
    fn hang_needs_its_threads_to_wait_and_no_others() {
        let stuck = vec![(0, vec![WaitingFor::Condition]), (1, vec![WaitingFor::Join])];
        let expected = Expected { goal: Goal::Stuck(vec![7, 9]), stuck, ..race() };
        let wait = |thread, what| WaitingThread { thread, what, object: 0, holders: Vec::new() };
        let run = |steps_done, joins_unnamed, stuck| {
            let progress = Progress { steps_done, joins_unnamed, stuck, ..Progress::default() };
            expected.missed(&progress)
        };
        let (condition, join) = (wait(0, WaitingFor::Condition), wait(1, WaitingFor::Join));
        let both = vec![condition.clone(), join.clone()];
        assert_eq!(run(true, false, Some(both.clone())), None);
        assert_eq!(run(false, false, Some(both)).unwrap(), "not every step of the schedule ran");
        assert_eq!(run(true, false, None).unwrap(), "a thread could go on");
        assert_eq!(
            run(true, false, Some(vec![condition.clone()])).unwrap(),
            "thread 1 did not wait"
        );
        assert_eq!(run(true, true, Some(vec![condition.clone()])), None);
        for other in [wait(0, WaitingFor::Semaphore), wait(2, WaitingFor::Condition)] {
            assert!(run(true, false, Some(vec![condition.clone(), join.clone(), other])).is_some());
        }
    }

    #[test]
    fn deadlock_needs_a_cycle_of_waits() {
        let expected = Expected { goal: Goal::Blocked(vec![7, 9]), blocked: vec![1, 2], ..race() };
        let wait = |thread, what, object, holders: &[u32]| WaitingThread {
            thread,
            what,
            object,
            holders: holders.to_vec(),
        };
        let run = |waits: Vec<WaitingThread>| {
            expected.missed(&Progress { all_blocked: Some(waits), ..Progress::default() })
        };
        let lock = WaitingFor::Lock;
        assert_eq!(run(vec![wait(1, lock, 8, &[2]), wait(2, lock, 9, &[1])]), None);
        let join = wait(2, WaitingFor::Join, 1, &[]);
        assert_eq!(run(vec![wait(1, lock, 8, &[2]), join]), None);
        let third = run(vec![wait(1, lock, 8, &[2]), wait(2, lock, 9, &[3])]);
        assert_eq!(third.unwrap(), "thread 2 did not wait for one of the others");
        assert!(expected.missed(&Progress::default()).is_some());
    }
}
