//! Traces of any size that look like those of a real program: workers run the same loop, over
//! objects that are each guarded by a lock, with memory of their own in between. The number of
//! places is fixed (`worker.c:10` to `worker.c:64`), the number of variables and locks is given.
//!
//! Of a hundred rounds of the loop a few do what a careful programmer would not: read a guarded
//! object without its lock, count in a plain variable, check and act in two sections, take two
//! locks in any order.

use super::{FOREVER, OUTER, empty, is_short};
use crate::Params;
use crate::program::{Coder, Do, Instr, Object, Program, Rhs};

/// Index slots: the lock, an object it guards, a second lock and object, a private variable.
const LOCK: u8 = 0;
const GUARDED: u8 = 1;
const SECOND: u8 = 2;
const OTHER: u8 = 3;
const PRIVATE: u8 = 4;

/// Division of the variables.
struct Layout {
    locks: u32,
    /// Objects of each lock: object j of lock k is variable k + locks · j.
    of_lock: u32,
    /// First of the variables that no lock guards, and how many.
    bare: usize,
    bares: u32,
    /// First variable that is private to some thread, and how many each has.
    private: usize,
    privates: u32,
}

impl Layout {
    fn new(params: &Params) -> Layout {
        let locks = params.locks as u32;
        let of_lock = (params.variables as u32 * 7 / 10 / locks).max(1);
        let guarded = (locks * of_lock) as usize;
        let rest = params.variables.saturating_sub(guarded);
        let bares = (rest / 10).clamp(1, 64);
        let privates = (rest.saturating_sub(bares) / params.threads).max(1);
        Layout {
            locks,
            of_lock,
            bare: guarded,
            bares: bares as u32,
            private: guarded + bares,
            privates: privates as u32,
        }
    }
}

pub(super) fn program(params: &Params) -> Program {
    let mut program = empty(params);
    program.file = "worker.c";
    let layout = Layout::new(params);
    program.threads = (0..params.threads).map(|t| worker(params, &layout, t)).collect();
    program
}

fn read(var: Object) -> Do {
    Do::Read { var, atomic: false, into: 0 }
}

fn write(var: Object, value: Rhs) -> Do {
    Do::Write { var, atomic: false, value }
}

/// Writes statements that happen in `percent` of a hundred rounds.
fn sometimes(coder: &mut Coder, percent: u8, statements: impl FnOnce(&mut Coder)) {
    let skip = coder.leap(Do::Sometimes { percent, otherwise: 0 });
    statements(coder);
    coder.land(skip);
}

fn worker(params: &Params, layout: &Layout, t: usize) -> Vec<Instr> {
    let mut coder = Coder::at(1);
    if t == 0 {
        for child in 1..params.threads {
            coder.move_to(4);
            coder.add(Do::Fork(child));
        }
    }
    coder.move_to(10);
    let back = coder.here();
    pick(&mut coder, layout);
    // A short trace would show none of what is rare.
    let rare = |percent: u8| if is_short(params) { 30 } else { percent };
    guarded(&mut coder);
    if !is_short(params) {
        sometimes(&mut coder, 60, |c| private(c, layout, t));
    }
    sometimes(&mut coder, rare(6), nested);
    sometimes(&mut coder, rare(10), block);
    sometimes(&mut coder, rare(3), check_then_act);
    sometimes(&mut coder, rare(2), |c| {
        c.add(read(Object::picked(0, GUARDED)));
    });
    sometimes(&mut coder, rare(2), |c| {
        let counter = Object::from(layout.bare);
        c.add(read(counter)).add(write(counter, Rhs::Plus(0, 1)));
    });
    sometimes(&mut coder, rare(4), |c| {
        c.add(Do::Pick { slot: OTHER, bound: layout.bares });
        let (var, value) = (Object::picked(layout.bare, OTHER), Rhs::Plus(0, 1));
        c.add(Do::Update { var, into: 0, value });
    });
    coder.add(Do::Repeat { times: FOREVER, slot: OUTER, back });
    coder.finish()
}

fn pick(coder: &mut Coder, layout: &Layout) {
    let within =
        |slot, of| Do::PickWithin { slot, of, stride: layout.locks, bound: layout.of_lock };
    coder
        .add(Do::Pick { slot: LOCK, bound: layout.locks })
        .add(within(GUARDED, LOCK))
        .add(Do::Pick { slot: SECOND, bound: layout.locks })
        .add(within(OTHER, SECOND))
        .add(Do::Pick { slot: PRIVATE, bound: layout.privates });
}

/// The usual case: one object, under its lock.
fn guarded(coder: &mut Coder) {
    let object = Object::picked(0, GUARDED);
    coder.add(Do::Acquire(Object::picked(0, LOCK))).add(read(object));
    sometimes(coder, 60, |c| {
        c.add(write(object, Rhs::Plus(0, 1)));
    });
    coder.add(Do::Release(Object::picked(0, LOCK)));
}

fn private(coder: &mut Coder, layout: &Layout, t: usize) {
    let own = Object::picked(layout.private + t * layout.privates as usize, PRIVATE);
    coder.add(read(own)).add(write(own, Rhs::Plus(0, 1))).add(read(own));
}

/// Moves something from one object to another, under both locks.
fn nested(coder: &mut Coder) {
    let (from, to) = (Object::picked(0, GUARDED), Object::picked(0, OTHER));
    coder
        .add(Do::Lucky)
        .add(Do::Acquire(Object::picked(0, LOCK)))
        .add(read(from))
        .add(Do::Acquire(Object::picked(0, SECOND)))
        .add(write(to, Rhs::Plus(0, 0)))
        .add(Do::Release(Object::picked(0, SECOND)))
        .add(write(from, Rhs::Const(0)))
        .add(Do::Release(Object::picked(0, LOCK)))
        .add(Do::Unlucky);
}

/// An atomic block that is one.
fn block(coder: &mut Coder) {
    let object = Object::picked(0, OTHER);
    coder
        .add(Do::Begin)
        .add(Do::Acquire(Object::picked(0, SECOND)))
        .add(read(object))
        .add(write(object, Rhs::Plus(0, 1)))
        .add(Do::Release(Object::picked(0, SECOND)))
        .add(Do::End);
}

/// An atomic block that is none: what was checked may have changed before it acts.
fn check_then_act(coder: &mut Coder) {
    let (lock, object) = (Object::picked(0, LOCK), Object::picked(0, GUARDED));
    coder
        .add(Do::Begin)
        .add(Do::Acquire(lock))
        .add(read(object))
        .add(Do::Release(lock))
        .add(Do::Acquire(lock))
        .add(write(object, Rhs::Plus(0, 1)))
        .add(Do::Release(lock))
        .add(Do::End);
}
