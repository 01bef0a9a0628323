//! What goes from thread to thread through the kernel: pipes, sockets, `eventfd`, files, signals.
//!
//! The model has no event for them. Everything that is sent through a channel is a *message*, and every message
//! a variable, which is written where it is sent. Who receives it, or sees that something is there, reads that
//! variable; who sees that nothing more is there (a short read, a poll that finds nothing) reads that of the next message,
//! before it is written. So what is received was sent before, in every feasible interleaving, and who looks sees
//! the same as in the run, or goes no further.
//!
//! - Where several threads send, the bytes that come out depend on who was first: each sender updates one more
//!   variable. Where several threads take out, what one gets depends on what the others got: they update another,
//!   and those who look read it.
//! - Whose bytes come out is found by counting, in pipes and stream sockets that one thread reads. Where the count is not
//!   certain, and in everything else, what is received depends on all that was sent so far.
//! - The variables are opaque: part of no finding. A channel through which no thread gets anything from another has
//!   none: output that several threads write is not ordered by that.
//! - In a symbolic trace each of these reads is followed by a condition: the number that was read is the recorded one.
//!
//! A thread that finds a pipe full and waits for a reader is not ordered after it.

use std::collections::VecDeque;

use foretell_rt_format::channel::{Channel, looked, received, sent};
use foretell_rt_format::{Kind, SyncKind};
use foretell_trace::expr::{Expr, ExprOp};
use foretell_trace::{EventKind, RegId, Value, VarId};
use rustc_hash::FxHashMap;

use super::{At, Translation};
use crate::survey::Users;

/// The channels of a run so far.
#[derive(Default)]
pub(super) struct Channels {
    states: FxHashMap<u64, State>,
    /// Channels of each kind that have a name, by that.
    named: FxHashMap<&'static str, usize>,
    /// The ordinal of the call that each thread is in, or made last.
    calls: FxHashMap<u32, u64>,
}

/// One channel.
struct State {
    name: String,
    /// Messages sent.
    sent: u64,
    /// Bytes sent and received.
    bytes_in: u64,
    bytes_out: u64,
    /// Messages that are not received as a whole, with the bytes sent when each was.
    pending: VecDeque<(u64, u64)>,
    /// The bytes cannot be counted.
    unsure: bool,
    messages: FxHashMap<u64, VarId>,
    /// What keeps senders in order, and receivers.
    order_in: Option<Order>,
    order_out: Option<Order>,
}

/// A variable that is updated by everybody who does something, and how often it was.
#[derive(Clone, Copy)]
struct Order {
    var: VarId,
    updates: i64,
}

/// The values of a message's variable.
const NOT_THERE: i64 = 0;
const THERE: i64 = 1;

impl State {
    fn new(name: String, counted: bool) -> State {
        State {
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

    fn sends(&mut self, bytes: u64) -> u64 {
        self.sent += 1;
        self.bytes_in += bytes;
        if !self.unsure {
            self.pending.push_back((self.sent, self.bytes_in));
        }
        self.sent
    }

    /// The last message that so many received bytes are from.
    fn receives(&mut self, bytes: u64) -> u64 {
        self.bytes_out += bytes;
        if self.bytes_out > self.bytes_in {
            self.gives_up_counting();
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

    /// The first message that something is left of.
    fn first(&self) -> u64 {
        let left = self.pending.iter().find(|(_, end)| *end > self.bytes_out);
        left.map_or(self.sent, |&(message, _)| message)
    }

    fn gives_up_counting(&mut self) {
        self.unsure = true;
        self.pending.clear();
    }
}

impl Translation<'_> {
    /// A call that may pass something on: what it does follows.
    pub(super) fn system_call(&mut self, at: &At<'_>) {
        self.channels.calls.insert(at.thread, at.ordinal);
    }

    pub(super) fn channel(&mut self, at: &At<'_>, kind: SyncKind, object: u64, other: u64) {
        let Some(used) = self.survey.channels.get(&object).filter(|used| used.orders()) else {
            return;
        };
        let Some(what) = Channel::of(object) else { return };
        let (messages, senders, takers) = (used.messages, used.senders, used.takers);
        // Those who look need to know who took something out, if that was not themselves.
        let shared_out = takers != Users::None && used.lookers == Users::Many;
        // Two threads that wait for bytes may come back in another order than they got them in.
        let counted = what.counts_bytes() && takers != Users::Many;
        let state = self.state(object, what, counted);
        match kind {
            SyncKind::Sent => {
                let message = state.sends(other & !sent::WAITED);
                if other & sent::WAITED != 0 && senders == Users::Many {
                    state.gives_up_counting();
                }
                if senders == Users::Many {
                    self.update_order(at, object, true);
                }
                let var = self.message(object, message);
                let value = Some(self.value(THERE));
                self.step_of_call(at, EventKind::Write { var, atomic: true, value, expr: None });
            }
            SyncKind::Received => {
                let message = state.receives(other & !received::SHORT);
                // More may be sent, and change nothing, where exactly what was asked for came.
                let exact = !state.unsure && other & received::SHORT == 0 && other != 0;
                let last = message == state.sent && what != Channel::Signal;
                if shared_out {
                    self.update_order(at, object, false);
                }
                self.sees(at, object, message, THERE);
                if !exact && last && message < messages {
                    self.sees(at, object, message + 1, NOT_THERE);
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
                    let (var, updates) = self.order(object, false);
                    self.read(at, var, updates);
                }
                if !nothing {
                    self.sees(at, object, message, THERE);
                } else if message <= messages {
                    self.sees(at, object, message, NOT_THERE);
                }
            }
            _ => state.gives_up_counting(),
        }
    }

    fn state(&mut self, object: u64, kind: Channel, counted: bool) -> &mut State {
        let Channels { states, named, .. } = &mut self.channels;
        states.entry(object).or_insert_with(|| {
            let n = named.entry(kind.word()).or_insert(0);
            *n += 1;
            State::new(format!("{}#{n}", kind.word()), counted)
        })
    }

    /// A variable that is part of no finding; zero at first.
    fn own_variable(&mut self, name: &str) -> VarId {
        let var = self.builder.variable(name);
        self.builder.set_opaque(var);
        let zero = self.value(0);
        self.builder.set_initial_value(var, zero);
        var
    }

    fn message(&mut self, object: u64, message: u64) -> VarId {
        let Some(state) = self.channels.states.get(&object) else { return VarId(0) };
        if let Some(&var) = state.messages.get(&message) {
            return var;
        }
        let name = format!("{}.{message}", state.name);
        let var = self.own_variable(&name);
        if let Some(state) = self.channels.states.get_mut(&object) {
            state.messages.insert(message, var);
        }
        var
    }

    /// What keeps senders or receivers in order, and how often it was updated.
    fn order(&mut self, object: u64, of_senders: bool) -> (VarId, i64) {
        let Some(state) = self.channels.states.get(&object) else { return (VarId(0), 0) };
        let known = if of_senders { state.order_in } else { state.order_out };
        if let Some(Order { var, updates }) = known {
            return (var, updates);
        }
        let name = format!("{}.{}", state.name, if of_senders { "in" } else { "out" });
        let var = self.own_variable(&name);
        self.set_order(object, of_senders, Order { var, updates: 0 });
        (var, 0)
    }

    fn set_order(&mut self, object: u64, of_senders: bool, order: Order) {
        if let Some(state) = self.channels.states.get_mut(&object) {
            *(if of_senders { &mut state.order_in } else { &mut state.order_out }) = Some(order);
        }
    }

    /// A message is there, or is not there yet. The number 0 is that of no message.
    fn sees(&mut self, at: &At<'_>, object: u64, message: u64, value: i64) {
        if message > 0 {
            let var = self.message(object, message);
            self.read(at, var, value);
        }
    }

    fn read(&mut self, at: &At<'_>, var: VarId, value: i64) {
        let register = self.symbolic_number(at);
        let seen = Some(self.value(value));
        self.step_of_call(at, EventKind::Read { var, atomic: true, value: seen, register });
        self.symbolic_guard(at, register, value);
    }

    fn update_order(&mut self, at: &At<'_>, object: u64, of_senders: bool) {
        let (var, updates) = self.order(object, of_senders);
        let register = self.symbolic_number(at);
        let (old, new) = (Some(self.value(updates)), Some(self.value(updates + 1)));
        let next = Expr::Const(Value::Int(updates + 1));
        let expr = register.map(|_| self.builder.exprs().intern(next));
        self.step_of_call(at, EventKind::Update { var, old, new, register, expr });
        self.symbolic_guard(at, register, updates);
        self.set_order(object, of_senders, Order { var, updates: updates + 1 });
    }

    /// A register for a number, in a symbolic trace: its model knows no broken reads.
    fn symbolic_number(&mut self, at: &At<'_>) -> Option<RegId> {
        let id = self.thread(at.thread);
        let rebuild = self.symbolic.as_mut()?;
        Some(rebuild.number(&mut self.builder, (at.thread, id)))
    }

    /// Who sees another number goes no further.
    fn symbolic_guard(&mut self, at: &At<'_>, register: Option<RegId>, value: i64) {
        let Some(register) = register else { return };
        let exprs = self.builder.exprs();
        let held = exprs.intern(Expr::Reg(register));
        let value = exprs.intern(Expr::Const(Value::Int(value)));
        let expr = exprs.intern(Expr::App(ExprOp::Eq, [held, value].into()));
        self.push_marker(at, EventKind::Guard { expr }, at.pc.filter(|&pc| pc != 0));
    }

    /// Adds an event that is part of the thread's call; of no step where a signal came in.
    fn step_of_call(&mut self, at: &At<'_>, kind: EventKind) {
        let &At { thread, stack, calls, .. } = at;
        match (at.pc.filter(|&pc| pc != 0), self.channels.calls.get(&thread)) {
            (pc @ Some(_), Some(&ordinal)) => {
                let call = Some(Kind::SystemCall);
                self.push(&At { thread, ordinal, pc, kind: call, stack, calls }, kind);
            }
            (pc, _) => {
                self.push_marker(at, kind, pc);
                self.observes(thread, kind.op().reads());
            }
        }
    }
}
