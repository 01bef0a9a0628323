//! Values of variables and registers, interned so that comparing two is comparing two integers.

use std::fmt;

use crate::ValueId;

/// A value that a program read or wrote.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Value {
    /// A 64-bit two's complement integer.
    Int(i64),
    /// A bit-vector of 1 to 64 bits; bits above `width` are zero.
    Bits {
        /// Number of bits.
        width: u8,
        /// The bits.
        bits: u64,
    },
}

impl fmt::Display for Value {
    /// As trace text writes it: decimal, or `#x…` (`#b…` where the width is no multiple of four).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Int(i) => write!(f, "{i}"),
            Value::Bits { width, bits } if width.is_multiple_of(4) => {
                write!(f, "#x{bits:0digits$x}", digits = usize::from(width / 4))
            }
            Value::Bits { width, bits } => {
                write!(f, "#b{bits:0digits$b}", digits = usize::from(width))
            }
        }
    }
}

/// The values of one trace.
///
/// Small integers, by far the most common, are their own identifier; everything else is kept in a
/// table.
#[derive(Clone, Default, Debug)]
pub struct Values {
    table: Vec<Value>,
    /// Index of each value in the table, plus one: open addressing, a power of two of slots, at
    /// most half full. Small, since a look-up mostly waits for the memory of its slot.
    slots: Vec<u32>,
}

/// Identifiers below this are small integers, offset by [`SMALL_ZERO`]; the rest index the table.
pub(crate) const TABLE_START: u32 = 1 << 31;
const SMALL_ZERO: i64 = 1 << 30;

impl Values {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The identifier of `value`, the same one whenever the value is the same.
    #[inline]
    pub fn intern(&mut self, value: Value) -> ValueId {
        match Self::small(value) {
            Some(id) => id,
            None => self.intern_large(value),
        }
    }

    /// The identifier of `value`, if it is small or was interned before.
    pub fn find(&self, value: Value) -> Option<ValueId> {
        let large = || {
            let slot = self.slot_of(value)?;
            self.slots[slot].checked_sub(1).map(|i| ValueId(TABLE_START + i))
        };
        Self::small(value).or_else(large)
    }

    /// The value behind an identifier of this table; `None` for an identifier of another one.
    #[inline]
    pub fn get(&self, id: ValueId) -> Option<Value> {
        if id.0 < TABLE_START {
            Some(Value::Int(i64::from(id.0) - SMALL_ZERO))
        } else {
            self.table.get((id.0 - TABLE_START) as usize).copied()
        }
    }

    /// The values that are not small integers, in the order of their identifiers, which start at
    /// [`TABLE_START`].
    pub(crate) fn table(&self) -> &[Value] {
        &self.table
    }

    /// The identifier of an integer between −2³⁰ and 2³⁰ − 1: the same in every table.
    #[inline]
    fn small(value: Value) -> Option<ValueId> {
        match value {
            Value::Int(i) => {
                let shifted = i.wrapping_add(SMALL_ZERO);
                (0..i64::from(TABLE_START)).contains(&shifted).then_some(ValueId(shifted as u32))
            }
            Value::Bits { .. } => None,
        }
    }

    fn intern_large(&mut self, value: Value) -> ValueId {
        if self.table.len() * 2 >= self.slots.len() {
            self.grow();
        }
        // After it has grown there is a free slot.
        let Some(slot) = self.slot_of(value) else { return ValueId(TABLE_START) };
        if self.slots[slot] == 0 {
            // One identifier is kept free: an event column uses it for "no value".
            let next = self.table.len();
            assert!(next < (TABLE_START - 1) as usize, "more than 2^31 distinct values");
            self.table.push(value);
            self.slots[slot] = next as u32 + 1;
        }
        ValueId(TABLE_START + self.slots[slot] - 1)
    }

    /// The slot of a value, or the free one where it would be; none if there are no slots at all.
    #[inline]
    fn slot_of(&self, value: Value) -> Option<usize> {
        let last = self.slots.len().checked_sub(1)?;
        let mut slot = hash(value) as usize & last;
        while let Some(i) = self.slots[slot].checked_sub(1)
            && self.table[i as usize] != value
        {
            slot = (slot + 1) & last;
        }
        Some(slot)
    }

    #[cold]
    fn grow(&mut self) {
        self.slots = vec![0; (self.slots.len() * 2).max(64)];
        for (i, &value) in (1..).zip(&self.table) {
            if let Some(slot) = self.slot_of(value) {
                self.slots[slot] = i;
            }
        }
    }
}

/// Well mixed in the low bits.
#[inline]
fn hash(value: Value) -> u64 {
    let (bits, width) = match value {
        Value::Int(i) => (i as u64, 0),
        Value::Bits { width, bits } => (bits, width),
    };
    let mixed = bits.rotate_left(u32::from(width)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_equal_ids_and_come_back() {
        let mut values = Values::new();
        let samples = [
            Value::Int(0),
            Value::Int(-1),
            Value::Int(i64::MIN),
            Value::Int(i64::MAX),
            Value::Int(SMALL_ZERO - 1),
            Value::Int(SMALL_ZERO),
            Value::Int(-SMALL_ZERO),
            Value::Int(-SMALL_ZERO - 1),
            Value::Bits { width: 8, bits: 0 },
            Value::Bits { width: 16, bits: 0 },
        ];
        let ids: Vec<_> = samples.iter().map(|&v| values.intern(v)).collect();
        for (i, &v) in samples.iter().enumerate() {
            assert_eq!(values.intern(v), ids[i]);
            assert_eq!(values.find(v), Some(ids[i]));
            assert_eq!(values.get(ids[i]), Some(v));
            assert!(ids.iter().enumerate().all(|(j, &id)| (id == ids[i]) == (i == j)));
        }
        assert_eq!(values.find(Value::Int(1 << 40)), None);
    }

    #[test]
    fn many_values_are_told_apart() {
        let mut values = Values::new();
        let value = |i: i64| match i % 3 {
            0 => Value::Int(i << 33),
            1 => Value::Int(-i << 40),
            _ => Value::Bits { width: 32 + (i % 7) as u8, bits: (i / 7) as u64 },
        };
        let ids: Vec<_> = (1..5000).map(|i| values.intern(value(i))).collect();
        for (i, id) in (1..).zip(ids) {
            let value = value(i);
            assert_eq!((values.intern(value), values.get(id)), (id, Some(value)));
            assert_eq!(values.find(value), Some(id));
        }
        assert_eq!(values.find(Value::Int(i64::MAX)), None);
    }

    #[test]
    fn values_print_as_trace_text() {
        assert_eq!(Value::Int(-7).to_string(), "-7");
        assert_eq!(Value::Bits { width: 8, bits: 0x0f }.to_string(), "#x0f");
        assert_eq!(Value::Bits { width: 3, bits: 0b101 }.to_string(), "#b101");
    }
}
