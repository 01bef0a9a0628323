//! Values of variables and registers, interned so that comparing two is comparing two integers.

use std::fmt;

use rustc_hash::FxHashMap;

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
    index: FxHashMap<Value, u32>,
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
        Self::small(value).or_else(|| self.index.get(&value).map(|&i| ValueId(TABLE_START + i)))
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
        let next = self.table.len();
        let index = *self.index.entry(value).or_insert_with(|| {
            // One identifier is kept free: an event column uses it for "no value".
            assert!(next < (TABLE_START - 1) as usize, "more than 2^31 distinct values");
            self.table.push(value);
            next as u32
        });
        ValueId(TABLE_START + index)
    }
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
    fn values_print_as_trace_text() {
        assert_eq!(Value::Int(-7).to_string(), "-7");
        assert_eq!(Value::Bits { width: 8, bits: 0x0f }.to_string(), "#x0f");
        assert_eq!(Value::Bits { width: 3, bits: 0b101 }.to_string(), "#b101");
    }
}
