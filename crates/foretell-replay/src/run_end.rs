//! Progress of a run along its schedule, and the end of a native run, according to the log.

use foretell_log::Stack;
use foretell_rt_format::{Blocked, Log, Record, SyncKind, WaitingFor};
use foretell_translate::{Symbols, java};
use rustc_hash::FxHashMap;

use crate::use_after_free::Heap;

/// A step before which a thread has stood.
#[derive(Clone, Debug)]
pub(crate) struct ReachedStep {
    /// Index of the step in the schedule.
    pub(crate) step: u64,
    pub(crate) thread: u32,
    pub(crate) memory: Memory,
    /// Whether the memory is in a block of the heap.
    pub(crate) is_allocated: bool,
}

/// Memory that a step touches.
#[derive(Clone, Debug)]
pub(crate) enum Memory {
    /// Bytes of a native program; the length is 0 where it is not known.
    Bytes { addr: u64, len: u64 },
    /// A variable of a Java program, where it is known.
    Variable(Option<java::Variable>),
}

impl Memory {
    /// Whether two steps touch a common byte, or the same variable.
    pub(crate) fn overlaps(&self, other: &Memory) -> bool {
        match (self, other) {
            (&Memory::Bytes { addr: a, len: a_len }, &Memory::Bytes { addr: b, len: b_len }) => {
                b.wrapping_sub(a) < a_len && b_len > 0 || a.wrapping_sub(b) < b_len && a_len > 0
            }
            (Memory::Variable(Some(a)), Memory::Variable(Some(b))) => a.overlaps(b),
            _ => false,
        }
    }
}

/// A thread that waited in a step, at the moment when all did that had to.
#[derive(Clone, Debug)]
pub(crate) struct WaitingThread {
    pub(crate) thread: u32,
    pub(crate) what: WaitingFor,
    pub(crate) object: u64,
    /// Threads that held the lock.
    pub(crate) holders: Vec<u32>,
}

/// Progress of a run along its schedule.
#[derive(Default, Debug)]
pub(crate) struct Progress {
    pub(crate) reached: Vec<ReachedStep>,
    /// Whether every step ran.
    pub(crate) steps_done: bool,
    /// Threads that waited, once all did that had to.
    pub(crate) all_blocked: Option<Vec<WaitingThread>>,
    /// Threads that waited when no thread could run: all that had not ended. What a thread of a
    /// Java program waits for is not known (`Runnable`).
    pub(crate) stuck: Option<Vec<WaitingThread>>,
    /// Whether threads that only join are missing from `stuck`.
    pub(crate) joins_unnamed: bool,
}

impl Progress {
    /// Returns the step with this index in the schedule, if it was reached.
    pub(crate) fn reached(&self, step: u64) -> Option<&ReachedStep> {
        self.reached.iter().find(|reached| reached.step == step)
    }

    /// Returns the progress of a Java run. `reaching`: the steps of the schedule that reach a step,
    /// with its thread and its ordinal.
    pub(crate) fn of_java(
        run: java::Progress,
        reaching: &[(u64, (u32, u64))],
        stuck: Option<&[u32]>,
    ) -> Progress {
        let stuck = stuck.map(|threads| {
            let waiting = |&thread: &u32| WaitingThread {
                thread,
                what: WaitingFor::Runnable,
                object: 0,
                holders: Vec::new(),
            };
            threads.iter().map(waiting).collect()
        });
        let reached = reaching.iter().filter_map(|&(step, key)| {
            let memory = Memory::Variable(run.steps.get(&key)?.clone());
            Some(ReachedStep { step, thread: key.0, memory, is_allocated: false })
        });
        let waiting = |w: java::Waiting| WaitingThread {
            thread: w.blocked.thread,
            what: if w.blocked.joins { WaitingFor::Join } else { WaitingFor::Lock },
            object: u64::from(w.blocked.object),
            holders: w.holders,
        };
        Progress {
            reached: reached.collect(),
            steps_done: run.steps_done,
            all_blocked: run.all_blocked.map(|all| all.into_iter().map(waiting).collect()),
            stuck,
            joins_unnamed: true,
        }
    }
}

/// Locks that threads hold: how many times each thread holds each lock.
#[derive(Default)]
struct HeldLocks(FxHashMap<(u64, u32), u32>);

impl HeldLocks {
    fn take(&mut self, thread: u32, record: &Record<'_>) {
        let Record::Sync { kind, object, other, .. } = *record else { return };
        let (lock, acquires) = match kind {
            SyncKind::Lock | SyncKind::ReadLock => (object, true),
            SyncKind::Unlock | SyncKind::ReadUnlock => (object, false),
            SyncKind::Wait => (other, false),
            SyncKind::Woken | SyncKind::TimedOut => (other, true),
            _ => return,
        };
        let held = self.0.entry((lock, thread)).or_default();
        *held = if acquires { *held + 1 } else { held.saturating_sub(1) };
    }

    fn holders(&self, lock: u64) -> Vec<u32> {
        let held = self.0.iter().filter(|&(&(object, _), &times)| object == lock && times > 0);
        held.map(|(&(_, thread), _)| thread).collect()
    }
}

/// End of a native run.
#[derive(Default)]
pub(crate) struct RunEnd {
    pub(crate) progress: Progress,
    /// Reason for which the run left its schedule.
    pub(crate) departure: Option<String>,
    /// Threads in a deadlock.
    pub(crate) deadlock: Option<Vec<u32>>,
    /// The wait of each thread when no thread could run, in words.
    pub(crate) waits: Vec<String>,
    /// Message about the first use after free.
    pub(crate) use_after_free: Option<String>,
    /// Function and location of the signal that ended the program.
    pub(crate) crash: Option<(Option<String>, Option<String>)>,
    /// Whether the schedule was for a child of `fork`.
    pub(crate) is_child: bool,
    /// The signal that ended a child of `fork`; the status of the run is not the child's.
    pub(crate) child_signal: Option<i32>,
}

impl RunEnd {
    pub(crate) fn of(log: &Log<'_>) -> RunEnd {
        let mut end = RunEnd::default();
        let mut symbols = Symbols::default();
        let mut stacks: FxHashMap<u32, Stack> = FxHashMap::default();
        let mut heap = Heap::default();
        // The last code address of each thread: its location when a library function aborts.
        let mut last = FxHashMap::default();
        let mut held = HeldLocks::default();
        for entry in log.events().map_while(Result::ok) {
            if let Some(pc) = entry.record.pc() {
                last.insert(entry.thread, pc);
            }
            let around = stacks.get(&entry.thread).and_then(Stack::innermost);
            let message = heap.take(&entry, around, &mut symbols);
            end.use_after_free = end.use_after_free.or(message);
            held.take(entry.thread, &entry.record);
            match entry.record {
                Record::Reached { step, addr, len } => {
                    let memory = Memory::Bytes { addr, len };
                    let (thread, is_allocated) = (entry.thread, heap.is_allocated(addr));
                    let reached = ReachedStep { step, thread, memory, is_allocated };
                    end.progress.reached.push(reached);
                }
                Record::StepsDone => end.progress.steps_done = true,
                Record::AllBlocked { threads } => {
                    let waiting = threads.iter().map(|b| WaitingThread {
                        thread: b.thread,
                        what: b.what,
                        object: b.object,
                        holders: held.holders(b.object),
                    });
                    end.progress.all_blocked = Some(waiting.collect());
                }
                Record::Module { bias, start, end, path, .. } => {
                    symbols.add(start, end, bias, path);
                }
                Record::ModuleGone { start } => symbols.remove(start),
                Record::FuncEntry { pc, call } => {
                    stacks.entry(entry.thread).or_default().enter(pc, call);
                }
                Record::FuncExit => stacks.entry(entry.thread).or_default().exit(),
                Record::Departure { message, .. } => {
                    let message = String::from_utf8_lossy(message);
                    end.departure = Some(symbols.with_locations(&message));
                }
                Record::Deadlock { threads } => {
                    let waiting = threads.iter().map(|b| WaitingThread {
                        thread: b.thread,
                        what: b.what,
                        object: b.object,
                        holders: Vec::new(),
                    });
                    end.progress.stuck = Some(waiting.collect());
                    end.waits = threads.iter().map(|b| wait(b, &mut symbols)).collect();
                    // Threads that wait to join are not part of a cycle.
                    let stuck = threads.iter().filter(|b| b.what != WaitingFor::Runnable);
                    let in_cycle = stuck.clone().filter(|b| b.what != WaitingFor::Join);
                    let mut numbers: Vec<u32> = in_cycle.map(|b| b.thread).collect();
                    if numbers.is_empty() {
                        numbers = stuck.map(|b| b.thread).collect();
                    }
                    end.deadlock = Some(numbers);
                }
                Record::ChildOfFork { .. } => end.is_child = true,
                Record::EndOfProgram { .. } => end.child_signal = None,
                Record::Crash { signal, pc, .. } => {
                    end.child_signal = i32::try_from(signal).ok().filter(|_| end.is_child);
                    let code = symbols.exact(pc);
                    end.crash = Some(if code.known {
                        (code.function().map(str::to_owned), Some(code.location.clone()))
                    } else {
                        let inner = stacks.get(&entry.thread).and_then(Stack::innermost);
                        let function = inner.and_then(|pc| {
                            symbols.code(pc).functions.last().map(|(name, _)| name.clone())
                        });
                        let location = last.get(&entry.thread).map(|&pc| symbols.code(pc));
                        let location = location.filter(|c| c.known).map(|c| c.location.clone());
                        (function, location)
                    });
                }
                _ => {}
            }
        }
        end
    }
}

/// Returns what a thread waits for, in words.
fn wait(b: &Blocked, symbols: &mut Symbols) -> String {
    let thread = b.thread;
    let object = match symbols.global(b.object) {
        Some((name, 0)) => format!(" {name}"),
        _ => String::new(),
    };
    let code = symbols.code(b.pc);
    let at = if code.known { format!(" at {}", code.location) } else { String::new() };
    let what = match b.what {
        WaitingFor::Lock => format!("the lock{object}"),
        WaitingFor::ReadLock => format!("the reader side of the lock{object}"),
        WaitingFor::Condition => format!("the condition{object}"),
        WaitingFor::Semaphore => format!("the semaphore{object}"),
        WaitingFor::Barrier => format!("the other parties of the barrier{object}"),
        WaitingFor::Join => format!("the end of thread {}", b.object),
        _ => "something else".to_owned(),
    };
    format!("thread {thread} waits for {what}{at}")
}
