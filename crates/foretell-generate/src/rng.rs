//! The random number generator of traces, programs and tests: xoshiro256++ (Blackman and Vigna),
//! seeded with SplitMix64. A seed gives the same numbers on every machine and in every version.

/// A small random number generator with a fixed algorithm.
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// Returns the generator with this seed.
    pub fn new(seed: u64) -> Rng {
        let mut z = seed;
        let state = std::array::from_fn(|_| {
            z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = z;
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        });
        Rng { state }
    }

    /// Returns the next 64 random bits.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "the numbers never end")]
    pub fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound` (0 if `bound` is 0). The bias of the multiplication is below 2⁻³² for
    /// the bounds used here.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        (((self.next() >> 32) * (bound as u64 & 0xffff_ffff)) >> 32) as usize
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in `percent` of a hundred cases.
    #[inline]
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// The index of one of `weights`, each as likely as it is heavy; 0 if all are 0.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut ticket = self.below(weights.iter().sum());
        for (i, &w) in weights.iter().enumerate() {
            if ticket < w {
                return i;
            }
            ticket -= w;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_never_change() {
        let mut rng = Rng::new(7);
        let first: Vec<_> = (0..4).map(|_| rng.below(1000)).collect();
        assert_eq!(first, PINNED);
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.between(3, 3), 3);
        assert!((0..1000).all(|_| rng.weighted(&[0, 2, 0, 1]) % 2 == 1));
    }

    const PINNED: [usize; 4] = [55, 172, 717, 427];
}
