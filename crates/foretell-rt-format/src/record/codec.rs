//! Encoding and decoding of records that are not compact.

use super::*;
use crate::wire::{Get, MOST_THREADS, Put, tag};

impl Record<'_> {
    /// Writes the record, but for its tag, which is returned with the whole length: the caller
    /// stores the tag in `buf[0]`. `Access`, `FuncEntry` and `FuncExit` have compact forms
    /// of their own ([`crate::put_head`] and friends) and give `None`.
    pub fn encode(&self, buf: &mut [u8]) -> Option<(u8, usize)> {
        let mut p = Put { buf, len: 1 };
        let t = match self {
            Record::Switch { thread } => {
                p.var(u64::from(*thread));
                tag::SWITCH
            }
            Record::Slot { slot, key, high } => {
                let fields = slot.to_le_bytes().into_iter().chain(key.to_le_bytes());
                fields.chain(high.to_le_bytes()).for_each(|b| p.u8(b));
                tag::SLOT
            }
            Record::Seq { delta } => {
                p.var(*delta);
                tag::SEQ
            }
            Record::Module { .. } | Record::ModuleGone { .. } => self.encode_module(&mut p),
            Record::Create { .. }
            | Record::ThreadBegin { .. }
            | Record::ThreadLocals { .. }
            | Record::ThreadName { .. }
            | Record::ThreadEnd
            | Record::Join { .. }
            | Record::Detach { .. } => self.encode_thread(&mut p),
            Record::Wide { .. } | Record::Atomic { .. } | Record::Range { .. } => {
                self.encode_memory(&mut p)
            }
            Record::Access { .. } | Record::FuncEntry { .. } | Record::FuncExit => return None,
            Record::Elided { .. }
            | Record::ElisionPoint
            | Record::AfterElisionPoint { .. }
            | Record::ElisionGap { .. } => self.encode_gap(&mut p),
            Record::Sync { kind, pc, object, other } => {
                p.u8(*kind as u8);
                p.var(*pc);
                p.var(*object);
                p.var(*other);
                tag::SYNC
            }
            Record::Alloc { pc, addr, size } => {
                p.var(*pc);
                p.var(*addr);
                p.var(*size);
                tag::ALLOC
            }
            Record::Free { counted, pc, addr, size } => {
                p.u8(u8::from(*counted));
                p.var(*pc);
                p.var(*addr);
                p.var(*size);
                tag::FREE
            }
            Record::MarkBegin { pc, label } => {
                p.var(*pc);
                p.bytes(label);
                tag::MARK_BEGIN
            }
            Record::MarkEnd { pc } => {
                p.var(*pc);
                tag::MARK_END
            }
            Record::Trail { kind, pc, site, a, b } => {
                p.u8(*kind as u8);
                [pc, site, a, b].into_iter().for_each(|v| p.var(*v));
                tag::TRAIL
            }
            Record::HiddenFunction { .. } | Record::HiddenCall { .. } | Record::AfterOthers => {
                self.encode_hidden(&mut p)
            }
            _ => self.encode_process(&mut p),
        };
        Some((t, p.len))
    }

    fn encode_module(&self, p: &mut Put<'_>) -> u8 {
        match self {
            Record::Module { bias, start, end, path, build_id } => {
                p.var(*bias);
                p.var(*start);
                p.var(*end);
                p.bytes(path);
                p.bytes(build_id);
                tag::MODULE
            }
            Record::ModuleGone { start } => {
                p.var(*start);
                tag::MODULE_GONE
            }
            _ => tag::END,
        }
    }

    fn encode_gap(&self, p: &mut Put<'_>) -> u8 {
        match self {
            Record::Elided { count, key } => {
                (*count as u32).to_le_bytes().into_iter().for_each(|b| p.u8(b));
                key.to_le_bytes().into_iter().for_each(|b| p.u8(b));
                tag::ELIDED
            }
            Record::AfterElisionPoint { thread } => {
                p.var(u64::from(*thread));
                tag::AFTER_ELISION_POINT
            }
            Record::ElisionGap { holder, ordered, wrote, renews, writes, addr, value } => {
                let flags = [*ordered, *wrote, *writes, value.is_some(), *renews];
                let flags = flags.into_iter().zip(0..);
                p.u8(flags.map(|(flag, bit)| u8::from(flag) << bit).sum());
                p.var(holder.map_or(0, |holder| u64::from(holder) + 1));
                p.var(*addr);
                p.var(value.unwrap_or(0));
                tag::ELISION_GAP
            }
            _ => tag::ELISION_POINT,
        }
    }

    fn encode_thread(&self, p: &mut Put<'_>) -> u8 {
        match self {
            Record::Create { thread, nth, pc, routine } => {
                p.var(u64::from(*thread));
                p.var(u64::from(*nth));
                p.var(*pc);
                p.var(*routine);
                tag::CREATE
            }
            Record::ThreadBegin { tid, stack_start, stack_end } => {
                p.var(u64::from(*tid));
                p.var(*stack_start);
                p.var(*stack_end);
                tag::THREAD_BEGIN
            }
            Record::ThreadLocals { module, start } => {
                p.var(*module);
                p.var(*start);
                tag::THREAD_LOCALS
            }
            Record::ThreadName { thread, name } => {
                p.var(u64::from(*thread));
                p.bytes(name);
                tag::THREAD_NAME
            }
            Record::ThreadEnd => tag::THREAD_END,
            Record::Join { thread, pc } => {
                p.var(u64::from(*thread));
                p.var(*pc);
                tag::JOIN
            }
            Record::Detach { thread } => {
                p.var(u64::from(*thread));
                tag::DETACH
            }
            _ => tag::END,
        }
    }

    fn encode_memory(&self, p: &mut Put<'_>) -> u8 {
        match self {
            Record::Wide { kind, size, pc, addr, value } => {
                p.u8(*kind as u8 | u8::from(value.is_some()) << 1);
                p.u8(*size);
                p.var(*pc);
                p.var(*addr);
                for v in value.unwrap_or_default() {
                    p.var(v);
                }
                tag::WIDE
            }
            Record::Atomic { kind, size, order, pc, addr, old, new } => {
                p.u8(*kind as u8);
                p.u8(*size << 3 | (*order & 7));
                p.var(*pc);
                p.var(*addr);
                for v in old.iter().chain(new) {
                    p.var(*v);
                }
                tag::ATOMIC
            }
            Record::Range { kind, pc, addr, len, data } => {
                p.u8(*kind as u8);
                p.var(*pc);
                p.var(*addr);
                p.var(*len);
                p.bytes(data);
                tag::RANGE
            }
            _ => tag::END,
        }
    }

    fn encode_hidden(&self, p: &mut Put<'_>) -> u8 {
        match self {
            Record::HiddenFunction { function, state, name, library } => {
                p.var(*function);
                p.u8(*state as u8);
                p.bytes(name);
                p.bytes(library);
                tag::HIDDEN_FUNCTION
            }
            Record::HiddenCall { pc, function, arguments } => {
                p.var(*pc);
                p.var(*function);
                let arguments = &arguments[..arguments.len().min(crate::MAX_HIDDEN_ARGUMENTS)];
                p.var(arguments.len() as u64);
                arguments.iter().for_each(|a| p.var(*a));
                tag::HIDDEN_CALL
            }
            _ => tag::AFTER_OTHERS,
        }
    }

    fn encode_process(&self, p: &mut Put<'_>) -> u8 {
        match self {
            Record::Call { pc, name } => {
                p.var(*pc);
                p.bytes(name);
                tag::CALL
            }
            Record::Return => tag::RETURN,
            Record::Forked { pid } => {
                p.var(u64::from(*pid));
                tag::FORKED
            }
            Record::Exec { path } => {
                p.bytes(path);
                tag::EXEC
            }
            Record::EndOfProgram { how, status } => {
                p.u8(*how as u8);
                p.signed(i64::from(*status));
                tag::END_OF_PROGRAM
            }
            Record::Crash { signal, code, pc, addr } => {
                p.var(u64::from(*signal));
                p.signed(i64::from(*code));
                p.var(*pc);
                p.var(*addr);
                tag::CRASH
            }
            Record::ChildOfFork { path } => {
                p.bytes(path);
                tag::CHILD_OF_FORK
            }
            Record::Benign { addr, size } => {
                p.var(*addr);
                p.var(*size);
                tag::BENIGN
            }
            Record::Ignore { reads, writes } => {
                p.signed(i64::from(*reads));
                p.signed(i64::from(*writes));
                tag::IGNORE
            }
            Record::Abort { pc, condition, location, function } => {
                p.var(*pc);
                [condition, location, function].into_iter().for_each(|text| p.bytes(text));
                tag::ABORT
            }
            Record::Deadlock { threads } => {
                encode_blocked(p, threads);
                tag::DEADLOCK
            }
            Record::Stuck { threads } => {
                encode_blocked(p, threads);
                tag::STUCK
            }
            Record::Departure { step, message } => {
                p.var(*step);
                p.bytes(message);
                tag::DEPARTURE
            }
            Record::StepsDone => tag::STEPS_DONE,
            Record::Reached { step, addr, len } => {
                [step, addr, len].into_iter().for_each(|v| p.var(*v));
                tag::REACHED
            }
            Record::AllBlocked { threads } => {
                encode_blocked(p, threads);
                tag::ALL_BLOCKED
            }
            Record::Frames { keep, frames } => {
                p.var(*keep);
                let frames = &frames[..frames.len().min(crate::MAX_FRAMES)];
                p.var(frames.len() as u64);
                frames.iter().flatten().for_each(|field| p.var(*field));
                tag::FRAMES
            }
            Record::Signal { signal, starts } => {
                p.var(u64::from(*signal));
                p.u8(u8::from(*starts));
                tag::SIGNAL
            }
            _ => tag::END,
        }
    }

    /// Reads the fields of a record that is not compact; `None`: not a record.
    pub(crate) fn decode<'a>(t: u8, g: &mut Get<'a>) -> Option<Record<'a>> {
        let u32_of = |v: u64| u32::try_from(v).ok();
        Some(match t {
            tag::SWITCH => Record::Switch { thread: thread_of(g.var()?)? },
            tag::SLOT => Record::Slot {
                slot: g.fixed(2)? as u16,
                key: g.fixed(8)?,
                high: g.fixed(4)? as u32,
            },
            tag::SEQ => Record::Seq { delta: g.var()? },
            tag::MODULE => Record::Module {
                bias: g.var()?,
                start: g.var()?,
                end: g.var()?,
                path: g.bytes()?,
                build_id: g.bytes()?,
            },
            tag::MODULE_GONE => Record::ModuleGone { start: g.var()? },
            tag::CREATE => Record::Create {
                thread: thread_of(g.var()?)?,
                nth: u32_of(g.var()?)?,
                pc: g.var()?,
                routine: g.var()?,
            },
            tag::THREAD_BEGIN => Record::ThreadBegin {
                tid: u32_of(g.var()?)?,
                stack_start: g.var()?,
                stack_end: g.var()?,
            },
            tag::THREAD_LOCALS => Record::ThreadLocals { module: g.var()?, start: g.var()? },
            tag::THREAD_NAME => {
                Record::ThreadName { thread: thread_of(g.var()?)?, name: g.bytes()? }
            }
            tag::THREAD_END => Record::ThreadEnd,
            tag::JOIN => Record::Join { thread: thread_of(g.var()?)?, pc: g.var()? },
            tag::DETACH => Record::Detach { thread: thread_of(g.var()?)? },
            tag::ATOMIC | tag::RANGE | tag::WIDE => return decode_memory(t, g),
            tag::SYNC => Record::Sync {
                kind: SyncKind::from_u8(g.u8()?)?,
                pc: g.var()?,
                object: g.var()?,
                other: g.var()?,
            },
            tag::ALLOC => Record::Alloc { pc: g.var()?, addr: g.var()?, size: g.var()? },
            tag::FREE => {
                Record::Free { counted: g.u8()? != 0, pc: g.var()?, addr: g.var()?, size: g.var()? }
            }
            tag::MARK_BEGIN => Record::MarkBegin { pc: g.var()?, label: g.bytes()? },
            tag::MARK_END => Record::MarkEnd { pc: g.var()? },
            tag::CALL => Record::Call { pc: g.var()?, name: g.bytes()? },
            tag::RETURN => Record::Return,
            tag::FORKED => Record::Forked { pid: u32_of(g.var()?)? },
            tag::EXEC => Record::Exec { path: g.bytes()? },
            tag::END_OF_PROGRAM => Record::EndOfProgram {
                how: EndHow::from_u8(g.u8()?)?,
                status: i32::try_from(g.signed()?).ok()?,
            },
            tag::CRASH => Record::Crash {
                signal: u32_of(g.var()?)?,
                code: i32::try_from(g.signed()?).ok()?,
                pc: g.var()?,
                addr: g.var()?,
            },
            tag::CHILD_OF_FORK => Record::ChildOfFork { path: g.bytes()? },
            tag::BENIGN => Record::Benign { addr: g.var()?, size: g.var()? },
            tag::IGNORE => Record::Ignore {
                reads: i8::try_from(g.signed()?).ok()?,
                writes: i8::try_from(g.signed()?).ok()?,
            },
            tag::ABORT => Record::Abort {
                pc: g.var()?,
                condition: g.bytes()?,
                location: g.bytes()?,
                function: g.bytes()?,
            },
            tag::DEADLOCK => Record::Deadlock { threads: decode_blocked(g)? },
            tag::STUCK => Record::Stuck { threads: decode_blocked(g)? },
            tag::DEPARTURE => Record::Departure { step: g.var()?, message: g.bytes()? },
            tag::STEPS_DONE => Record::StepsDone,
            tag::REACHED => Record::Reached { step: g.var()?, addr: g.var()?, len: g.var()? },
            tag::ALL_BLOCKED => Record::AllBlocked { threads: decode_blocked(g)? },
            tag::TRAIL => Record::Trail {
                kind: TrailKind::from_u8(g.u8()?)?,
                pc: g.var()?,
                site: g.var()?,
                a: g.var()?,
                b: g.var()?,
            },
            tag::ELIDED => Record::Elided { count: g.fixed(4)?, key: g.fixed(8)? },
            tag::HIDDEN_FUNCTION => Record::HiddenFunction {
                function: g.var()?,
                state: HiddenState::from_u8(g.u8()?)?,
                name: g.bytes()?,
                library: g.bytes()?,
            },
            tag::HIDDEN_CALL => {
                let (pc, function, count) = (g.var()?, g.var()?, g.var()?);
                if count > crate::MAX_HIDDEN_ARGUMENTS as u64 {
                    return None;
                }
                let arguments = (0..count).map(|_| g.var()).collect::<Option<_>>()?;
                Record::HiddenCall { pc, function, arguments }
            }
            tag::AFTER_OTHERS => Record::AfterOthers,
            tag::ELISION_POINT => Record::ElisionPoint,
            tag::AFTER_ELISION_POINT => Record::AfterElisionPoint { thread: thread_of(g.var()?)? },
            tag::ELISION_GAP => {
                let (flags, holder) = (g.u8()?, g.var()?);
                Record::ElisionGap {
                    holder: holder
                        .checked_sub(1)
                        .map(u32_of)
                        .map_or(Some(None), |h| h.map(Some))?,
                    ordered: flags & 1 != 0,
                    wrote: flags & 2 != 0,
                    writes: flags & 4 != 0,
                    renews: flags & 16 != 0,
                    addr: g.var()?,
                    value: Some(g.var()?).filter(|_| flags & 8 != 0),
                }
            }
            tag::FRAMES => {
                let (keep, count) = (g.var()?, g.var()?);
                if count > crate::MAX_FRAMES as u64 {
                    return None;
                }
                let frame = |g: &mut Get<'a>| Some([g.var()?, g.var()?, g.var()?]);
                let frames = (0..count).map(|_| frame(g)).collect::<Option<_>>()?;
                Record::Frames { keep, frames }
            }
            tag::SIGNAL => Record::Signal { signal: u32_of(g.var()?)?, starts: g.u8()? != 0 },
            _ => return None,
        })
    }
}

fn decode_memory<'a>(t: u8, g: &mut Get<'a>) -> Option<Record<'a>> {
    Some(match t {
        tag::WIDE => {
            let flags = g.u8()?;
            let (size, pc, addr) = (g.u8()?, g.var()?, g.var()?);
            let value = [g.var()?, g.var()?];
            Record::Wide {
                kind: AccessKind::from_u8(flags & 1)?,
                size,
                pc,
                addr,
                value: (flags & 2 != 0).then_some(value),
            }
        }
        tag::ATOMIC => {
            let kind = AtomicKind::from_u8(g.u8()?)?;
            let so = g.u8()?;
            let (pc, addr) = (g.var()?, g.var()?);
            let old = [g.var()?, g.var()?];
            let new = [g.var()?, g.var()?];
            Record::Atomic { kind, size: so >> 3, order: so & 7, pc, addr, old, new }
        }
        _ => Record::Range {
            kind: AccessKind::from_u8(g.u8()?)?,
            pc: g.var()?,
            addr: g.var()?,
            len: Some(g.var()?).filter(|&len| len <= LONGEST_RANGE)?,
            data: g.bytes()?,
        },
    })
}

/// Longest range of memory of an access. A longer one is damage: no machine has that much.
pub(crate) const LONGEST_RANGE: u64 = 1 << 40;

/// Greatest number of threads in a report.
const MAX_BLOCKED: usize = 200;

fn encode_blocked(p: &mut Put<'_>, threads: &[Blocked]) {
    let threads = &threads[..threads.len().min(MAX_BLOCKED)];
    p.var(threads.len() as u64);
    for b in threads {
        p.var(u64::from(b.thread));
        p.u8(b.what as u8);
        p.var(b.object);
        p.var(b.owner.map_or(0, |o| u64::from(o) + 1));
        p.var(b.pc);
    }
}

/// Returns the number of a thread; `None` for one that no valid log has, since readers have tables
/// of threads.
fn thread_of(number: u64) -> Option<u32> {
    u32::try_from(number).ok().filter(|&thread| thread < MOST_THREADS)
}

fn decode_blocked(g: &mut Get<'_>) -> Option<Vec<Blocked>> {
    let n = usize::try_from(g.var()?).ok().filter(|&n| n <= MAX_BLOCKED)?;
    (0..n)
        .map(|_| {
            Some(Blocked {
                thread: u32::try_from(g.var()?).ok()?,
                what: WaitingFor::from_u8(g.u8()?)?,
                object: g.var()?,
                owner: match g.var()? {
                    0 => None,
                    o => Some(u32::try_from(o - 1).ok()?),
                },
                pc: g.var()?,
            })
        })
        .collect()
}
