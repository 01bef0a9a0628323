//! Channels of the kernel between threads: pipes, sockets, `eventfd`, files, signals.
//!
//! The model has no event for them. Each transmission through a channel is a *message*, and each
//! message a variable, written where the message is sent. A thread that receives the message, or
//! sees that one is there, reads that variable. A thread that sees an empty channel (a short read,
//! a poll that finds nothing) reads the variable of the next message, before it is written. So in
//! every feasible interleaving a message is sent before it is received, and a thread that looks
//! sees the same as in the run, or goes no further.
//!
//! - Where several threads send, the bytes that come out depend on the order of the senders: each
//!   sender updates one more variable. Where several threads receive, the bytes of each depend on
//!   the other receivers: they update another variable, and threads that look read it.
//! - In pipes and stream sockets that one thread reads, counting bytes gives the message of each
//!   received byte. Where the count is not certain, and in all other channels, a receive depends
//!   on all messages sent so far.
//! - The variables are opaque: part of no finding. A channel through which no thread receives from
//!   another has none: output that several threads write is not ordered by that.
//! - In a symbolic trace each of these reads is followed by the guard that the number read is the
//!   recorded one.
//!
//! A thread that finds a pipe full and waits for a reader is not ordered after that reader.

use std::collections::VecDeque;

use foretell_rt_format::channel::{Channel, looked, received, sent};
use foretell_rt_format::{Kind, SyncKind};
use foretell_trace::{EventKind, VarId};
use rustc_hash::FxHashMap;

use super::context::Context;
use super::event_writer::EventWriter;
use super::opaque::{self, Chain, code_address, push_observing};
use super::survey::{ChannelUse, Users};

/// The channels of a run so far.
pub(super) struct Channels {
    /// Use of each channel in the whole run.
    uses: FxHashMap<u64, ChannelUse>,
    states: FxHashMap<u64, ChannelState>,
    /// Number of named channels of each kind.
    named: FxHashMap<&'static str, usize>,
    /// Ordinal of the system call that each thread is in, or made last.
    calls: FxHashMap<u32, u64>,
}

/// A channel.
struct ChannelState {
    name: String,
    /// Number of messages sent.
    sent: u64,
    /// Number of bytes sent.
    bytes_in: u64,
    /// Number of bytes received.
    bytes_out: u64,
    /// Messages of which bytes remain, each with the number of bytes sent up to its end.
    pending: VecDeque<(u64, u64)>,
    /// Whether the bytes cannot be counted.
    unsure: bool,
    messages: FxHashMap<u64, VarId>,
    /// Order of the senders.
    order_in: Option<Chain>,
    /// Order of the receivers.
    order_out: Option<Chain>,
}

/// Value of a message's variable before it is sent.
const NOT_THERE: i64 = 0;
/// Value of a message's variable after it is sent.
const THERE: i64 = 1;

impl ChannelState {
    fn new(name: String, counted: bool) -> ChannelState {
        ChannelState {
            name,
            sent: 0,
            bytes_in: 0,
            bytes_out: 0,
            pending: VecDeque::new(),
            unsure: !counted,
            messages: FxHashMap::default(),
            order_in: None,
            order_out: None,
        }
    }

    /// Sends a message; returns its number.
    fn send(&mut self, bytes: u64) -> u64 {
        self.sent += 1;
        self.bytes_in += bytes;
        if !self.unsure {
            self.pending.push_back((self.sent, self.bytes_in));
        }
        self.sent
    }

    /// Receives bytes; returns the last message that they are from.
    fn receive(&mut self, bytes: u64) -> u64 {
        self.bytes_out += bytes;
        if self.bytes_out > self.bytes_in {
            self.stop_counting();
        }
        if self.unsure || bytes == 0 {
            return self.sent;
        }
        while let Some(&(_, end)) = self.pending.front()
            && end < self.bytes_out
        {
            self.pending.pop_front();
        }
        let Some(&(message, end)) = self.pending.front() else { return self.sent };
        if end == self.bytes_out {
            self.pending.pop_front();
        }
        message
    }

    /// Returns the first message of which bytes remain.
    fn first(&self) -> u64 {
        let left = self.pending.iter().find(|(_, end)| *end > self.bytes_out);
        left.map_or(self.sent, |&(message, _)| message)
    }

    fn stop_counting(&mut self) {
        self.unsure = true;
        self.pending.clear();
    }
}

impl Channels {
    pub(super) fn new(uses: FxHashMap<u64, ChannelUse>) -> Channels {
        Channels {
            uses,
            states: FxHashMap::default(),
            named: FxHashMap::default(),
            calls: FxHashMap::default(),
        }
    }

    /// Notes a system call that may use a channel: the records of its effects follow.
    pub(super) fn system_call(&mut self, at: &Context<'_>) {
        self.calls.insert(at.thread, at.ordinal);
    }

    /// Adds the events of an operation on a channel.
    pub(super) fn operation(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        (kind, object, other): (SyncKind, u64, u64),
    ) {
        let Some(used) = self.uses.get(&object).filter(|used| used.orders()) else {
            return;
        };
        let Some(what) = Channel::of(object) else { return };
        let (messages, senders, takers) = (used.messages, used.senders, used.takers);
        // A thread that looks depends on the receivers, unless it is the only one.
        let shared_out = takers != Users::None && used.lookers == Users::Many;
        // Two threads that wait for bytes may come back in another order than they got them in.
        let counted = what.counts_bytes() && takers != Users::Many;
        let state = self.state(object, what, counted);
        match kind {
            SyncKind::Sent => {
                let message = state.send(other & !sent::WAITED);
                if other & sent::WAITED != 0 && senders == Users::Many {
                    state.stop_counting();
                }
                if senders == Users::Many {
                    self.update_order(out, at, object, true);
                }
                let var = self.message(out, object, message);
                let value = Some(out.trace.value(THERE));
                let write = EventKind::Write { var, atomic: true, value, expr: None };
                self.push(out, at, write);
            }
            SyncKind::Received => {
                let message = state.receive(other & !received::FLAGS);
                // Where exactly the requested bytes came, more messages change nothing.
                let exact = !state.unsure && other & received::SHORT == 0 && other != 0;
                let last = message == state.sent && what != Channel::Signal;
                if shared_out {
                    self.update_order(out, at, object, false);
                }
                self.see(out, at, object, message, THERE);
                if !exact && last && message < messages {
                    self.see(out, at, object, message + 1, NOT_THERE);
                }
            }
            SyncKind::Looked => {
                let nothing = other == looked::NOTHING;
                let message = match other {
                    looked::NOTHING => state.sent + 1,
                    looked::SOMETHING => state.first(),
                    _ => state.sent,
                };
                if shared_out {
                    let Chain { var, updates } = self.order(out, object, false);
                    self.read(out, at, var, updates);
                }
                if !nothing {
                    self.see(out, at, object, message, THERE);
                } else if message <= messages {
                    self.see(out, at, object, message, NOT_THERE);
                }
            }
            _ => state.stop_counting(),
        }
    }

    fn state(&mut self, object: u64, kind: Channel, counted: bool) -> &mut ChannelState {
        let Channels { states, named, .. } = self;
        states.entry(object).or_insert_with(|| {
            let n = named.entry(kind.word()).or_insert(0);
            *n += 1;
            ChannelState::new(format!("{}#{n}", kind.word()), counted)
        })
    }

    /// Returns the variable of a message.
    fn message(&mut self, out: &mut EventWriter, object: u64, message: u64) -> VarId {
        let Some(state) = self.states.get_mut(&object) else { return VarId(0) };
        let name = &state.name;
        let new = || opaque::variable(out, &format!("{name}.{message}"));
        *state.messages.entry(message).or_insert_with(new)
    }

    /// Returns the order of the senders, or of the receivers.
    fn order(&mut self, out: &mut EventWriter, object: u64, of_senders: bool) -> Chain {
        let Some(state) = self.states.get_mut(&object) else {
            return Chain { var: VarId(0), updates: 0 };
        };
        let name = &state.name;
        let (order, end) = match of_senders {
            true => (&mut state.order_in, "in"),
            false => (&mut state.order_out, "out"),
        };
        let new = || Chain::new(out, &format!("{name}.{end}"));
        *order.get_or_insert_with(new)
    }

    /// Adds the observation that a message is there, or is not there yet. Number 0 is no message.
    fn see(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        object: u64,
        message: u64,
        value: i64,
    ) {
        if message > 0 {
            let var = self.message(out, object, message);
            self.read(out, at, var, value);
        }
    }

    fn read(&mut self, out: &mut EventWriter, at: &Context<'_>, var: VarId, value: i64) {
        opaque::read(out, at, (var, value), |out, kind| self.push(out, at, kind));
    }

    fn update_order(
        &mut self,
        out: &mut EventWriter,
        at: &Context<'_>,
        object: u64,
        of_senders: bool,
    ) {
        let mut chain = self.order(out, object, of_senders);
        chain.update(out, at, |out, kind| self.push(out, at, kind));
        if let Some(state) = self.states.get_mut(&object) {
            let order = if of_senders { &mut state.order_in } else { &mut state.order_out };
            *order = Some(chain);
        }
    }

    /// Adds an event that is part of the thread's system call, or of no step where a signal was
    /// delivered.
    fn push(&self, out: &mut EventWriter, at: &Context<'_>, kind: EventKind) {
        match (code_address(at), self.calls.get(&at.thread)) {
            (pc @ Some(_), Some(&ordinal)) => {
                out.push(&at.with_step(ordinal, Some(Kind::SystemCall), pc), kind);
            }
            (pc, _) => push_observing(out, at, kind, pc),
        }
    }
}
