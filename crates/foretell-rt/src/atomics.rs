//! Atomic operations: the hook performs them, sequentially consistent whatever was asked for,
//! and records what they read and wrote, and the order that was asked for. A fence is a record
//! alone.

use crate::entry::{enter, entries, leave, plain_entries};
use crate::recorder;
use crate::sched::access_step;
use foretell_rt_format::{AtomicKind, Kind, Record, SyncKind};
use std::arch::asm;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

/// An integer that can be accessed atomically.
trait Word: Copy + PartialEq {
    const SIZE: u8;
    fn halves(self) -> [u64; 2];
    unsafe fn cas(at: *mut Self, old: Self, new: Self) -> Result<Self, Self>;
    unsafe fn load(at: *mut Self) -> Self;
}

macro_rules! word {
    ($t:ty, $atomic:ty, $size:literal) => {
        impl Word for $t {
            const SIZE: u8 = $size;
            fn halves(self) -> [u64; 2] {
                [u64::from(self), 0]
            }
            unsafe fn cas(at: *mut Self, old: Self, new: Self) -> Result<Self, Self> {
                // SAFETY: the program accesses this address atomically.
                unsafe { (*at.cast::<$atomic>()).compare_exchange(old, new, SeqCst, SeqCst) }
            }
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: as above.
                unsafe { (*at.cast::<$atomic>()).load(SeqCst) }
            }
        }
    };
}
word!(u8, AtomicU8, 1);
word!(u16, AtomicU16, 2);
word!(u32, AtomicU32, 4);
word!(u64, AtomicU64, 8);

impl Word for u128 {
    const SIZE: u8 = 16;
    fn halves(self) -> [u64; 2] {
        [self as u64, (self >> 64) as u64]
    }
    unsafe fn cas(at: *mut Self, old: Self, new: Self) -> Result<Self, Self> {
        let (mut lo, mut hi) = (old as u64, (old >> 64) as u64);
        // SAFETY: every x86-64 processor since 2006 has this instruction; the address is
        // aligned, as the program's own operation needs it to be. rbx is the compiler's, and no
        // operand may be in it.
        unsafe {
            asm!("xchg rbx, rsi", "lock cmpxchg16b [rdi]", "mov rbx, rsi",
                 in("rdi") at, inout("rsi") new as u64 => _,
                 in("rcx") (new >> 64) as u64,
                 inout("rax") lo, inout("rdx") hi);
        }
        let seen = u128::from(lo) | u128::from(hi) << 64;
        if seen == old { Ok(seen) } else { Err(seen) }
    }
    unsafe fn load(at: *mut Self) -> Self {
        // SAFETY: as above; exchanging zero for zero changes nothing.
        match unsafe { Self::cas(at, 0, 0) } {
            Ok(v) | Err(v) => v,
        }
    }
}

/// Replaces the value at `at` by `f` of it. Returns the value before and the value after.
unsafe fn update<T: Word>(at: *mut T, f: impl Fn(T) -> T) -> (T, T) {
    // SAFETY: promised by the caller.
    unsafe {
        let mut seen = T::load(at);
        loop {
            let new = f(seen);
            match T::cas(at, seen, new) {
                Ok(old) => return (old, new),
                Err(other) => seen = other,
            }
        }
    }
}

/// Performs `op` as one atomic step, and records the effect that it returns.
fn atomic<T: Word>(
    at: *mut T,
    order: c_int,
    pc: usize,
    op: impl FnOnce() -> (AtomicKind, T, [u64; 2], [u64; 2]),
) -> T {
    atomic_ordered(at, &Cell::new(order), pc, op)
}

/// [`atomic`], with an order that is known after `op`.
fn atomic_ordered<T: Word>(
    at: *mut T,
    order: &Cell<c_int>,
    pc: usize,
    op: impl FnOnce() -> (AtomicKind, T, [u64; 2], [u64; 2]),
) -> T {
    let Some(t) = enter() else { return op().1 };
    access_step(t, Kind::Atomic, pc, (at as usize, usize::from(T::SIZE)));
    let (kind, result, old, new) = op();
    let record = Record::Atomic {
        kind,
        size: T::SIZE,
        order: order.get() as u8 & 7,
        pc: pc as u64,
        addr: at as u64,
        old,
        new,
    };
    recorder::put(t, &record);
    leave(t);
    result
}

unsafe extern "C" fn load<T: Word>(at: *mut T, order: c_int, pc: usize) -> T {
    // SAFETY: the program's own operation.
    unsafe {
        atomic(at, order, pc, || {
            let v = T::load(at);
            (AtomicKind::Load, v, v.halves(), [0; 2])
        })
    }
}

unsafe extern "C" fn store<T: Word>(at: *mut T, value: T, order: c_int, pc: usize) {
    // SAFETY: the program's own operation.
    unsafe {
        atomic(at, order, pc, || {
            update(at, |_| value);
            (AtomicKind::Store, value, [0; 2], value.halves())
        });
    }
}

macro_rules! updates {
    ($($name:ident |$old:ident, $v:ident| $new:expr;)*) => {$(
        unsafe extern "C" fn $name<T: Word + Arith>(
            at: *mut T, $v: T, order: c_int, pc: usize,
        ) -> T {
            // SAFETY: the program's own operation.
            unsafe {
                atomic(at, order, pc, || {
                    let (old, new) = update(at, |$old| $new);
                    (AtomicKind::Update, old, old.halves(), new.halves())
                })
            }
        }
    )*};
}

/// Arithmetic that wraps.
trait Arith:
    std::ops::BitAnd<Output = Self>
    + std::ops::BitOr<Output = Self>
    + std::ops::BitXor<Output = Self>
    + std::ops::Not<Output = Self>
    + Sized
{
    fn add(self, v: Self) -> Self;
    fn sub(self, v: Self) -> Self;
}
macro_rules! arith {
    ($($t:ty)*) => {$(impl Arith for $t {
        fn add(self, v: Self) -> Self { self.wrapping_add(v) }
        fn sub(self, v: Self) -> Self { self.wrapping_sub(v) }
    })*};
}
arith!(u8 u16 u32 u64 u128);

updates! {
    exchange |_old, v| v;
    fetch_add |old, v| old.add(v);
    fetch_sub |old, v| old.sub(v);
    fetch_and |old, v| old & v;
    fetch_or |old, v| old | v;
    fetch_xor |old, v| old ^ v;
    fetch_nand |old, v| !(old & v);
}

/// Compares and exchanges. Returns the value found: `expected` when the exchange took place.
///
/// `orders` are those of an exchange and of a failure.
unsafe fn exchange_if<T: Word>(
    at: *mut T,
    expected: T,
    new: T,
    orders: [c_int; 2],
    pc: usize,
) -> T {
    let order = Cell::new(orders[0]);
    // SAFETY: the program's own operation.
    unsafe {
        atomic_ordered(at, &order, pc, || match T::cas(at, expected, new) {
            Ok(old) => (AtomicKind::Update, old, old.halves(), new.halves()),
            Err(old) => {
                order.set(orders[1]);
                (AtomicKind::FailedUpdate, old, old.halves(), [0; 2])
            }
        })
    }
}

unsafe extern "C" fn cas_val<T: Word>(
    at: *mut T,
    expected: T,
    new: T,
    order: c_int,
    fail_order: c_int,
    pc: usize,
) -> T {
    // SAFETY: the program's own operation.
    unsafe { exchange_if(at, expected, new, [order, fail_order], pc) }
}

unsafe extern "C" fn cas<T: Word>(
    at: *mut T,
    expected: *mut T,
    new: T,
    order: c_int,
    fail_order: c_int,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own operation.
    unsafe {
        let wanted = expected.read_unaligned();
        let seen = exchange_if(at, wanted, new, [order, fail_order], pc);
        if seen == wanted {
            return 1;
        }
        expected.write_unaligned(seen);
        0
    }
}

/// Sixteen bytes fill two registers: the code location takes the place of the failure order.
unsafe extern "C" fn cas128(
    at: *mut u128,
    expected: *mut u128,
    new: u128,
    order: c_int,
    pc: usize,
) -> c_int {
    // SAFETY: the program's own operation.
    unsafe { cas(at, expected, new, order, order, pc) }
}

/// The code location takes the place of the order: sequentially consistent is recorded.
unsafe extern "C" fn cas_val128(at: *mut u128, expected: u128, new: u128, pc: usize) -> u128 {
    // SAFETY: the program's own operation.
    unsafe { exchange_if(at, expected, new, [5, 5], pc) }
}

unsafe extern "C" fn thread_fence(order: c_int, pc: usize) {
    fence(SeqCst);
    let Some(t) = enter() else { return };
    let other = order as u64 & 7;
    recorder::put(t, &Record::Sync { kind: SyncKind::Fence, pc: pc as u64, object: 0, other });
    leave(t);
}

unsafe extern "C" fn signal_fence(_order: c_int) {
    std::sync::atomic::compiler_fence(SeqCst);
}

plain_entries! {
    __tsan_atomic_signal_fence => signal_fence;
}

entries! {
    __tsan_atomic_thread_fence => thread_fence, "rsi";
    __tsan_atomic8_load => load::<u8>, "rdx";
    __tsan_atomic8_store => store::<u8>, "rcx";
    __tsan_atomic8_exchange => exchange::<u8>, "rcx";
    __tsan_atomic8_fetch_add => fetch_add::<u8>, "rcx";
    __tsan_atomic8_fetch_sub => fetch_sub::<u8>, "rcx";
    __tsan_atomic8_fetch_and => fetch_and::<u8>, "rcx";
    __tsan_atomic8_fetch_or => fetch_or::<u8>, "rcx";
    __tsan_atomic8_fetch_xor => fetch_xor::<u8>, "rcx";
    __tsan_atomic8_fetch_nand => fetch_nand::<u8>, "rcx";
    __tsan_atomic8_compare_exchange_strong => cas::<u8>, "r9";
    __tsan_atomic8_compare_exchange_weak => cas::<u8>, "r9";
    __tsan_atomic8_compare_exchange_val => cas_val::<u8>, "r9";
    __tsan_atomic16_load => load::<u16>, "rdx";
    __tsan_atomic16_store => store::<u16>, "rcx";
    __tsan_atomic16_exchange => exchange::<u16>, "rcx";
    __tsan_atomic16_fetch_add => fetch_add::<u16>, "rcx";
    __tsan_atomic16_fetch_sub => fetch_sub::<u16>, "rcx";
    __tsan_atomic16_fetch_and => fetch_and::<u16>, "rcx";
    __tsan_atomic16_fetch_or => fetch_or::<u16>, "rcx";
    __tsan_atomic16_fetch_xor => fetch_xor::<u16>, "rcx";
    __tsan_atomic16_fetch_nand => fetch_nand::<u16>, "rcx";
    __tsan_atomic16_compare_exchange_strong => cas::<u16>, "r9";
    __tsan_atomic16_compare_exchange_weak => cas::<u16>, "r9";
    __tsan_atomic16_compare_exchange_val => cas_val::<u16>, "r9";
    __tsan_atomic32_load => load::<u32>, "rdx";
    __tsan_atomic32_store => store::<u32>, "rcx";
    __tsan_atomic32_exchange => exchange::<u32>, "rcx";
    __tsan_atomic32_fetch_add => fetch_add::<u32>, "rcx";
    __tsan_atomic32_fetch_sub => fetch_sub::<u32>, "rcx";
    __tsan_atomic32_fetch_and => fetch_and::<u32>, "rcx";
    __tsan_atomic32_fetch_or => fetch_or::<u32>, "rcx";
    __tsan_atomic32_fetch_xor => fetch_xor::<u32>, "rcx";
    __tsan_atomic32_fetch_nand => fetch_nand::<u32>, "rcx";
    __tsan_atomic32_compare_exchange_strong => cas::<u32>, "r9";
    __tsan_atomic32_compare_exchange_weak => cas::<u32>, "r9";
    __tsan_atomic32_compare_exchange_val => cas_val::<u32>, "r9";
    __tsan_atomic64_load => load::<u64>, "rdx";
    __tsan_atomic64_store => store::<u64>, "rcx";
    __tsan_atomic64_exchange => exchange::<u64>, "rcx";
    __tsan_atomic64_fetch_add => fetch_add::<u64>, "rcx";
    __tsan_atomic64_fetch_sub => fetch_sub::<u64>, "rcx";
    __tsan_atomic64_fetch_and => fetch_and::<u64>, "rcx";
    __tsan_atomic64_fetch_or => fetch_or::<u64>, "rcx";
    __tsan_atomic64_fetch_xor => fetch_xor::<u64>, "rcx";
    __tsan_atomic64_fetch_nand => fetch_nand::<u64>, "rcx";
    __tsan_atomic64_compare_exchange_strong => cas::<u64>, "r9";
    __tsan_atomic64_compare_exchange_weak => cas::<u64>, "r9";
    __tsan_atomic64_compare_exchange_val => cas_val::<u64>, "r9";
    __tsan_atomic128_load => load::<u128>, "rdx";
    __tsan_atomic128_store => store::<u128>, "r8";
    __tsan_atomic128_exchange => exchange::<u128>, "r8";
    __tsan_atomic128_fetch_add => fetch_add::<u128>, "r8";
    __tsan_atomic128_fetch_sub => fetch_sub::<u128>, "r8";
    __tsan_atomic128_fetch_and => fetch_and::<u128>, "r8";
    __tsan_atomic128_fetch_or => fetch_or::<u128>, "r8";
    __tsan_atomic128_fetch_xor => fetch_xor::<u128>, "r8";
    __tsan_atomic128_fetch_nand => fetch_nand::<u128>, "r8";
    __tsan_atomic128_compare_exchange_strong => cas128, "r9";
    __tsan_atomic128_compare_exchange_weak => cas128, "r9";
    __tsan_atomic128_compare_exchange_val => cas_val128, "r9";
}
