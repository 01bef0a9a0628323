//! Calls of functions that are not recorded, from their begin to their end.
//!
//! The record of such a call comes before the call runs. Most calls run to their end without an
//! event in between, and one update of their objects is enough. A call that blocks, or that calls
//! back recorded code, uses its objects again later: after the wait, after the callback. While a
//! call is *open*, its objects are updated
//!
//! - before the first event of the thread after other threads ran,
//! - before the first event of another thread after events of a callback,
//! - at the call's end, if there was either.
//!
//! The log does not say when a call ends. It is over at the thread's first event in the function
//! that made the call, or outside of that function: events of a callback, and of the library that
//! is called, have code addresses or return addresses in other functions.

use foretell_log::CallId;
use rustc_hash::FxHashMap;

use crate::native::context::Context;
use crate::native::event_writer::EventWriter;
use crate::native::opaque::{Chain, push_observing};

/// Number of a chain in [`OpenCalls`].
pub(super) type ChainId = u32;

/// A call that may not have ended.
struct OpenCall {
    chains: Vec<ChainId>,
    pc: u64,
    stack: CallId,
    /// Whether the call is over at the next event, whichever it is.
    ends_at_next: bool,
    /// Whether other threads ran since its last update.
    interrupted: bool,
    /// Whether its thread had events since its last update.
    called_back: bool,
}

/// The open calls of a run, and the chains of hidden state.
#[derive(Default)]
pub(in crate::native) struct OpenCalls {
    threads: FxHashMap<u32, Vec<OpenCall>>,
    /// Thread of the last event.
    current: u32,
    chains: Vec<Chain>,
}

impl OpenCalls {
    /// Whether no call is open.
    #[inline]
    pub(in crate::native) fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// Adds a chain.
    pub(super) fn add(&mut self, chain: Chain) -> ChainId {
        self.chains.push(chain);
        (self.chains.len() - 1) as ChainId
    }
}

impl EventWriter {
    /// Updates the chains of a call and opens the call. `ends_at_next`: the call is over at the
    /// next event of its thread.
    pub(super) fn open_call(&mut self, at: &Context<'_>, chains: Vec<ChainId>, ends_at_next: bool) {
        for &chain in &chains {
            self.update_chain(at, chain, at.pc, at.kind.is_some());
        }
        let (pc, stack) = (at.pc.unwrap_or(0), at.stack);
        let (interrupted, called_back) = (false, false);
        let call = OpenCall { chains, pc, stack, ends_at_next, interrupted, called_back };
        self.open.threads.entry(at.thread).or_default().push(call);
        self.open.current = at.thread;
    }

    /// Updates a chain. `is_step`: the update is part of the thread's step.
    pub(super) fn update_chain(
        &mut self,
        at: &Context<'_>,
        id: ChainId,
        pc: Option<u64>,
        is_step: bool,
    ) {
        if !self.open.is_empty() {
            // Updates that come before this one may be of the same chain.
            self.settle(at);
        }
        let Some(mut chain) = self.open.chains.get(id as usize).copied() else { return };
        chain.update(self, at, |out, kind| match is_step {
            true => out.push(at, kind),
            false => push_observing(out, at, kind, pc),
        });
        if let Some(known) = self.open.chains.get_mut(id as usize) {
            *known = chain;
        }
    }

    /// Adds the updates of open calls that come before an event at `at`.
    #[cold]
    pub(in crate::native) fn settle(&mut self, at: &Context<'_>) {
        let mut threads = std::mem::take(&mut self.open.threads);
        let before = std::mem::replace(&mut self.open.current, at.thread);
        if before != at.thread
            && let Some(calls) = threads.get_mut(&before)
        {
            let mut due = Due::default();
            for call in calls {
                due.add(call, call.called_back);
                (call.called_back, call.interrupted) = (false, true);
            }
            due.update(self, &Context { thread: before, kind: None, ..*at });
        }
        if let Some(calls) = threads.get_mut(&at.thread) {
            let mut due = Due::default();
            while let Some(call) = calls.pop_if(|call| self.is_over(call, at)) {
                due.add(&call, call.interrupted || call.called_back);
            }
            for call in calls.iter_mut() {
                due.add(call, call.interrupted);
                (call.called_back, call.interrupted) = (true, false);
            }
            if calls.is_empty() {
                threads.remove(&at.thread);
            }
            due.update(self, &Context { kind: None, ..*at });
        }
        self.open.threads = threads;
    }

    /// Whether a call is over when its thread is at `at`.
    fn is_over(&mut self, call: &OpenCall, at: &Context<'_>) -> bool {
        if call.ends_at_next {
            return true;
        }
        let depth = |stack| at.calls.get(stack).map_or(0, |c| c.depth);
        let base = depth(call.stack);
        let Some(deeper) = depth(at.stack).checked_sub(base) else { return true };
        // The code address at which the function that made the call is now.
        let now = match deeper.checked_sub(1) {
            None => (at.stack == call.stack).then_some(at.pc),
            Some(above) => {
                let frame = at.calls.outwards(at.stack).nth(above).map(|(_, frame)| frame);
                frame.filter(|frame| frame.outer == call.stack).map(|frame| Some(frame.call))
            }
        };
        match now {
            None => true,
            Some(None) => false,
            Some(Some(pc)) => self.locations.symbols.are_in_one_function(pc, call.pc),
        }
    }
}

/// Chains to update, each with the code address of a call that uses it.
#[derive(Default)]
struct Due(Vec<(ChainId, u64, CallId)>);

impl Due {
    fn add(&mut self, call: &OpenCall, is_due: bool) {
        if is_due {
            self.0.extend(call.chains.iter().map(|&chain| (chain, call.pc, call.stack)));
        }
    }

    fn update(mut self, out: &mut EventWriter, at: &Context<'_>) {
        self.0.sort_unstable();
        self.0.dedup_by_key(|due| due.0);
        for (chain, pc, stack) in self.0 {
            out.update_chain(&Context { stack, pc: Some(pc), ..*at }, chain, Some(pc), false);
        }
    }
}
