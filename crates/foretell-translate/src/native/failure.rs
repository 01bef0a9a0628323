//! The failure of a native run, according to its last records.

use foretell_rt_format::{Blocked, WaitingFor};
use foretell_trace::{FailureKind, RunFailure, SiteId, ThreadId, Trace};
use rustc_hash::FxHashSet;

use super::context::Context;
use super::event_writer::EventWriter;
use super::regions::Regions;
use super::sync::SyncObjects;
use crate::thread_wait::ThreadWait;

/// Signs of a failure so far.
#[derive(Default)]
pub(super) struct FailureSigns {
    /// Threads that have ended.
    ended: FxHashSet<u32>,
    /// The last report of threads that made no progress: state of each, by number.
    stuck: Vec<(u32, String)>,
    /// The call of `abort`, or the failed assertion: thread, message, state of the thread.
    abort: Option<(u32, FailureKind, String, String)>,
    found: Option<RunFailure>,
    /// Operations of all threads when no thread could go on.
    pub(super) waits: Vec<(ThreadId, ThreadWait)>,
}

/// Texts of an [`Record::Abort`](foretell_rt_format::Record::Abort).
pub(super) struct AbortTexts<'a> {
    pub(super) condition: &'a [u8],
    pub(super) location: &'a [u8],
    pub(super) function: &'a [u8],
}

impl FailureSigns {
    pub(super) fn end_of_thread(&mut self, thread: u32) {
        self.ended.insert(thread);
    }

    /// The program ends by itself: a signal was not the end.
    pub(super) fn end_of_program(&mut self) {
        let by_signal = [FailureKind::Crash, FailureKind::Assertion];
        self.found.take_if(|failure| by_signal.contains(&failure.kind));
    }

    /// No thread can ever run again.
    pub(super) fn deadlock(
        &mut self,
        out: &mut EventWriter,
        (objects, regions): (&mut SyncObjects, &mut Regions),
        threads: &[Blocked],
    ) {
        let waiting = |b: &&Blocked| b.what != WaitingFor::Runnable;
        let involved = |b: &&Blocked| {
            // A thread that only waits for the end of the others has no part in it, unless one of
            // them waits for it.
            b.what != WaitingFor::Join || threads.iter().any(|o| o.owner == Some(b.thread))
        };
        let mut stuck: Vec<&Blocked> = threads.iter().filter(waiting).filter(involved).collect();
        if stuck.is_empty() {
            stuck = threads.iter().filter(waiting).collect();
        }
        self.waits.clear();
        for b in threads {
            let wait = objects.wait(out, regions, b.what, b.object);
            self.waits.push((out.trace.thread(b.thread), wait));
        }
        let states = states(out, (objects, regions), &stuck);
        let kind = FailureKind::Deadlock;
        self.found =
            Some(RunFailure { kind, message: sentence(out, &states), threads: named(out, states) });
    }

    /// No thread makes progress; the program may still go on, or be killed.
    pub(super) fn stuck(
        &mut self,
        out: &mut EventWriter,
        parts: (&mut SyncObjects, &mut Regions),
        threads: &[Blocked],
    ) {
        self.stuck = states(out, parts, &threads.iter().collect::<Vec<_>>());
    }

    /// A thread calls `abort`, or its assertion fails.
    pub(super) fn abort(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        pc: u64,
        texts: &AbortTexts<'_>,
    ) {
        let state = stack(out, at, Some(pc));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let condition = text(texts.condition);
        if condition.is_empty() {
            let message = format!("the program aborted {state}");
            self.abort = Some((at.thread, FailureKind::Crash, message, format!("aborts {state}")));
            return;
        }
        let location = text(texts.location);
        let location = location.rsplit('/').next().unwrap_or(&location);
        // C++ gives the whole signature: `void bank::audit(int)`.
        let function = text(texts.function);
        let function = function.split('(').next().unwrap_or(&function);
        let function = function.rsplit(' ').next().unwrap_or(function);
        let message = format!("`{condition}` in {function} at {location}");
        let state = format!("fails its assertion {state}");
        self.abort = Some((at.thread, FailureKind::Assertion, message, state));
    }

    /// A signal is about to end the program.
    pub(super) fn crash(&mut self, out: &mut EventWriter, at: &Context<'_>, signal: u32, pc: u64) {
        let (kind, message, state) = match self.abort.take() {
            Some((thread, kind, message, state)) if thread == at.thread => (kind, message, state),
            _ => {
                // The address is that of the instruction, not a return address.
                let known = out.locations.symbols.exact(pc).known;
                let place = stack(out, at, known.then_some(pc + 1));
                let name = signal_name(signal as i32);
                (FailureKind::Crash, format!("{name} {place}"), format!("gets {name} {place}"))
            }
        };
        let message = message.trim_end().to_owned();
        let threads = named(out, vec![(at.thread, state)]);
        self.found = Some(RunFailure { kind, message, threads });
    }

    /// Returns the failure that the log shows, and the threads that had not ended with their
    /// states: those of a run that was killed.
    pub(super) fn finish(
        self,
        out: &mut EventWriter,
    ) -> (Option<RunFailure>, Vec<(String, String)>) {
        let numbers = out.trace.thread_numbers();
        let living = numbers.into_iter().filter(|t| !self.ended.contains(t));
        let state = |t: u32| {
            let stuck = self.stuck.iter().find(|(thread, _)| *thread == t);
            (t, stuck.map_or_else(|| "had not ended".to_owned(), |(_, state)| state.clone()))
        };
        let states: Vec<(u32, String)> = living.map(state).collect();
        (self.found, named(out, states))
    }
}

/// Returns the states of threads in words, by number.
fn states(
    out: &mut EventWriter,
    (objects, regions): (&mut SyncObjects, &mut Regions),
    threads: &[&Blocked],
) -> Vec<(u32, String)> {
    let mut states = Vec::new();
    for b in threads {
        let code = out.locations.symbols.code(b.pc);
        let at = if code.known { format!(" at {}", code.location) } else { String::new() };
        let held = b.owner.map_or(String::new(), |o| format!(", held by {}", display(out, o)));
        let mut object = || objects.name_of(out, regions, b.what, b.object);
        let state = match b.what {
            WaitingFor::Runnable => format!("can run{at}"),
            WaitingFor::Lock => format!("waits for {}{at}{held}", object()),
            WaitingFor::ReadLock => format!("waits to read-lock {}{at}{held}", object()),
            WaitingFor::Condition => format!("waits for the condition {}{at}", object()),
            WaitingFor::Semaphore => format!("waits for the semaphore {}{at}", object()),
            WaitingFor::Barrier => format!("waits at the barrier {}{at}", object()),
            WaitingFor::Join => {
                format!("waits for the end of {}{at}", display(out, b.object as u32))
            }
            WaitingFor::Once => format!("waits for an initialisation{at}"),
            WaitingFor::Futex => format!("waits for a futex{at}"),
            WaitingFor::Sleep => format!("sleeps{at}"),
            WaitingFor::Call => format!("is in a call of the system{at}"),
        };
        states.push((b.thread, state));
    }
    states
}

fn display(out: &mut EventWriter, thread: u32) -> String {
    let id = out.trace.thread(thread);
    out.trace.builder.trace().display_name(id).to_owned()
}

fn named(out: &mut EventWriter, states: Vec<(u32, String)>) -> Vec<(String, String)> {
    let mut name = |t: u32| {
        let id = out.trace.thread(t);
        out.trace.builder.trace().thread_name(id).to_owned()
    };
    states.into_iter().map(|(t, state)| (name(t), state)).collect()
}

fn sentence(out: &mut EventWriter, states: &[(u32, String)]) -> String {
    let parts: Vec<String> =
        states.iter().map(|(t, state)| format!("{} {state}", display(out, *t))).collect();
    parts.join("; ")
}

/// Returns the call stack of a thread in words: `in get at a.c:31, called from main at a.c:40`;
/// without `pc` the innermost function alone has no line.
fn stack(out: &mut EventWriter, at: &Context<'_>, pc: Option<u64>) -> String {
    let EventWriter { locations, trace, .. } = out;
    let builder = &mut trace.builder;
    if let Some(pc) = pc.filter(|&pc| locations.symbols.code(pc).known) {
        let (site, _) = locations.site(pc, at.stack, at.calls, builder);
        return frames(builder.trace(), site);
    }
    let Some(&call) = at.calls.get(at.stack) else { return String::new() };
    let code = locations.symbols.code(call.pc);
    let function = code.functions.last().map_or("?", |(name, _)| name);
    let mut text = format!("in {function}");
    if locations.symbols.code(call.call).known {
        let (site, _) = locations.site(call.call, call.outer, at.calls, builder);
        let callers = frames(builder.trace(), site);
        text += &format!(", called from {}", callers.strip_prefix("in ").unwrap_or(&callers));
    }
    text
}

/// Returns the frames of a site in words. Its callers are `function file:line`, the last one a
/// function alone.
fn frames(trace: &Trace, site: SiteId) -> String {
    let mut text = String::new();
    let mut at = trace.location(site);
    let mut next = trace.site_node(site).caller;
    while let Some(caller) = next {
        let frame = trace.location(caller);
        let (function, call) = match frame.rsplit_once(' ') {
            Some((function, call)) if call.contains(':') => (function, Some(call)),
            _ => (frame, None),
        };
        text += if text.is_empty() { "in " } else { ", called from " };
        text += &format!("{function} at {at}");
        at = call.unwrap_or("");
        next = trace.site_node(caller).caller;
    }
    if text.is_empty() { format!("at {at}") } else { text }
}

/// Returns the name of a signal.
pub fn signal_name(signal: i32) -> String {
    let name = match signal {
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGSYS => "SIGSYS",
        libc::SIGKILL => "SIGKILL",
        libc::SIGALRM => "SIGALRM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGTERM => "SIGTERM",
        libc::SIGPIPE => "SIGPIPE",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}
