//! Random bytes that are the same in every run.
//!
//! Hash maps take their keys from the system: the order of their elements would decide what a
//! thread does, and a replay would depart. The bytes depend on the thread and on the number of its
//! calls.

use crate::access::range_written_later;
use crate::entry::{enter, entries, leave};
use crate::real::real;
use std::ffi::c_uint;

/// Multiplier and increment of the generator (PCG's).
const MULTIPLIER: u64 = 6_364_136_223_846_793_005;
const INCREMENT: u64 = 1_442_695_040_888_963_407;

/// Fills memory with bytes of a generator that starts from a seed.
fn fill(to: &mut [u8], seed: u64) {
    let mut state = seed.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
    for byte in to {
        state = state.wrapping_mul(MULTIPLIER).wrapping_add(INCREMENT);
        *byte = (state >> 56) as u8;
    }
}

extern "C-unwind" fn getrandom_fn(to: *mut u8, n: usize, flags: c_uint, pc: usize) -> isize {
    let Some(t) = enter() else {
        return real!(getrandom(to: *mut u8, n: usize, flags: c_uint) -> isize);
    };
    if n > 0 {
        range_written_later(t, to as usize, n, pc);
        let draws = &t.lifecycle().random_draws;
        draws.set(draws.get() + 1);
        // SAFETY: the program's own buffer.
        let bytes = unsafe { std::slice::from_raw_parts_mut(to, n) };
        fill(bytes, u64::from(t.index()) << 32 | draws.get());
    }
    leave(t);
    n as isize
}

entries! {
    getrandom => getrandom_fn, "rcx";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_depend_on_the_seed_alone() {
        let bytes = |seed| {
            let mut bytes = [0; 16];
            fill(&mut bytes, seed);
            bytes
        };
        assert_eq!(bytes(7), bytes(7));
        assert_ne!(bytes(7), bytes(8));
        assert_ne!(bytes(7)[..8], bytes(7)[8..]);
    }
}
