//! Facts about later events for the rules that look ahead.

use super::rule::Rule;
use super::state::State;
use crate::{Event, EventId, EventKind, Op, ThreadId, Trace};

/// "No such event".
const NEVER: u32 = u32::MAX;

/// End of a `wait`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// With `woken` at this event.
    Woken(EventId),
    /// With `timed-out` at this event.
    TimedOut(EventId),
    /// The thread does nothing more.
    Never,
    /// The thread's next event is neither, or for another condition or lock.
    Wrong,
}

/// Facts about the whole trace.
pub(super) struct Outlook {
    /// The last event of each thread.
    last: Vec<u32>,
    /// The first fork of each thread.
    fork: Vec<u32>,
    /// Every `wait`, in order, and how it ends.
    endings: Vec<(EventId, Ending)>,
}

impl Outlook {
    pub(super) fn new(trace: &Trace) -> Outlook {
        let threads = trace.thread_count();
        let mut outlook =
            Outlook { last: vec![NEVER; threads], fork: vec![NEVER; threads], endings: Vec::new() };
        // Index into `endings` of the wait that each thread is in.
        let mut waiting = vec![NEVER; threads];
        for e in trace.ids() {
            foretell_limit::check();
            let t = trace.thread(e).index();
            outlook.last[t] = e.0;
            if waiting[t] != NEVER {
                let (wait, ending) = &mut outlook.endings[waiting[t] as usize];
                *ending = Self::ending(trace, *wait, e);
                waiting[t] = NEVER;
            }
            match trace.op(e) {
                Op::Wait => {
                    waiting[t] = outlook.endings.len() as u32;
                    outlook.endings.push((e, Ending::Never));
                }
                Op::Fork => {
                    if let EventKind::Fork { thread } = trace.event(e).kind {
                        let fork = &mut outlook.fork[thread.index()];
                        *fork = (*fork).min(e.0);
                    }
                }
                _ => {}
            }
        }
        outlook
    }

    /// Nothing is known of what is to come.
    pub(super) fn none() -> Outlook {
        Outlook { last: Vec::new(), fork: Vec::new(), endings: Vec::new() }
    }

    fn ending(trace: &Trace, wait: EventId, end: EventId) -> Ending {
        let EventKind::Wait { cond, lock } = trace.event(wait).kind else { return Ending::Wrong };
        match trace.event(end).kind {
            EventKind::Woken { cond: c, lock: l } if (c, l) == (cond, lock) => Ending::Woken(end),
            EventKind::TimedOut { cond: c, lock: l } if (c, l) == (cond, lock) => {
                Ending::TimedOut(end)
            }
            _ => Ending::Wrong,
        }
    }

    /// End of the wait at `wait`.
    pub(super) fn ending_of(&self, wait: EventId) -> Ending {
        match self.endings.binary_search_by_key(&wait, |&(w, _)| w) {
            Ok(i) => self.endings[i].1,
            Err(_) => Ending::Wrong,
        }
    }

    /// The last event of a thread, if it has one.
    pub(super) fn last_of(&self, t: ThreadId) -> Option<EventId> {
        self.last.get(t.index()).copied().filter(|&e| e != NEVER).map(EventId)
    }

    /// The one rule that is about the future of the event itself: a thread that is forked at all
    /// starts after its fork.
    #[inline]
    pub(super) fn allows(&self, event: &Event, state: &State<'_>) -> Result<(), Rule> {
        let fork = self.fork[event.thread.index()];
        if fork == NEVER || fork < event.id.0 || state.has_started(event.thread) {
            return Ok(());
        }
        Err(if fork == event.id.0 {
            Rule::ForksItself
        } else {
            Rule::StartsBeforeFork { fork: EventId(fork) }
        })
    }
}
