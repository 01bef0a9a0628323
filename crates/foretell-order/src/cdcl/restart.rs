//! When to restart: after 1, 1, 2, 1, 1, 2, 4, … times a unit of conflicts (Luby, Sinclair,
//! Zuckerman 1993), which is within a constant factor of the best restart strategy one could choose
//! knowing the run times.

/// Counts conflicts up to the next restart.
pub(crate) struct Restart {
    unit: u64,
    round: u64,
    left: u64,
}

impl Restart {
    pub(crate) fn new(unit: u64) -> Self {
        Restart { unit, round: 1, left: unit }
    }

    pub(crate) fn on_conflict(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Is a restart due? If so the next interval begins.
    pub(crate) fn due(&mut self) -> bool {
        if self.left > 0 {
            return false;
        }
        self.round += 1;
        self.left = luby(self.round) * self.unit;
        true
    }
}

/// The `i`-th number of the Luby sequence, from 1.
fn luby(i: u64) -> u64 {
    let mut i = i;
    loop {
        // The smallest k with 2^k - 1 >= i.
        let k = 64 - i.leading_zeros() as u64;
        if i == (1 << k) - 1 {
            return 1 << (k - 1);
        }
        i -= (1 << (k - 1)) - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luby_sequence() {
        let first: Vec<u64> = (1..=15).map(luby).collect();
        assert_eq!(first, [1, 1, 2, 1, 1, 2, 4, 1, 1, 2, 1, 1, 2, 4, 8]);
    }
}
