//! Properties of recorded traces that reports use: how values are written, where memory is freed,
//! and which library an event is inside.
//!
//! A trace has integers. Where the recorder knows the type of a variable, a property of the trace
//! with the key [`VALUE_FORMAT`] and the variable's name says how its values are written:
//!
//! | property | value −1 of 4 bytes, or 97, as text |
//! |---|---|
//! | none | signed integer: `-1` |
//! | `unsigned 4` | `4294967295` |
//! | `pointer` | `0xffffffffffffffff` |
//! | `bool` | `true` if 1, `false` if 0 |
//! | `char` | `'a'` |
//! | `float`, `double` | the number with these bits |
//! | `enum IDLE=0 BUSY=1` | the enumerator: `IDLE` |

use crate::{EventId, Op, Trace, Value, VarId};

/// Start of the key of the property that says how the values of a variable are written.
pub const VALUE_FORMAT: &str = "values of ";

/// Start of the key of the property that names the library's function or class around the events
/// of a function at a location: `inside Mailbox::put at mailbox.cpp:31`, `std::string`.
pub const INSIDE: &str = "inside ";

/// Start of the key of the property that says that the writes at a location free memory.
pub const FREES: &str = "frees at ";

/// Start of the key of the property that says that a variable is one that the standard library of a
/// language has for itself in locks, threads and counted references: `internal Bank#1.strong`,
/// `rust`. That its values depend on the schedule is no finding.
pub const INTERNAL: &str = "internal ";

impl Trace {
    /// Whether a variable is one that a standard library has for itself.
    pub fn is_internal(&self, variable: &str) -> bool {
        self.meta().contains_key(&format!("{INTERNAL}{variable}"))
    }

    /// Whether an event is a `free`, or a write that stands for one in a recorded trace.
    pub fn is_free(&self, event: EventId) -> bool {
        if self.op(event) == Op::Free {
            return true;
        }
        if self.op(event) != Op::Write || self.written_value(event).is_some() {
            return false;
        }
        let location = self.site(event).map(|site| self.location(site));
        location.is_some_and(|at| self.meta().contains_key(&format!("{FREES}{at}")))
    }

    /// Returns a value of a variable as its type writes it.
    pub fn shown_value(&self, variable: VarId, value: Value) -> String {
        let formatted = || {
            let key = format!("{VALUE_FORMAT}{}", self.variable_name(variable));
            let Value::Int(number) = value else { return None };
            formatted(self.meta().get(&key)?, number)
        };
        formatted().unwrap_or_else(|| value.to_string())
    }
}

/// Returns a number in a format; none if the number, or the format, is not one that it can have.
fn formatted(format: &str, number: i64) -> Option<String> {
    Some(match format {
        "pointer" => format!("{number:#x}"),
        "bool" => match number {
            0 => "false".to_owned(),
            1 => "true".to_owned(),
            _ => return None,
        },
        "char" => match u8::try_from(number) {
            Ok(c) if c == b' ' || c.is_ascii_graphic() => format!("'{}'", char::from(c)),
            Ok(b'\n') => "'\\n'".to_owned(),
            Ok(0) => "'\\0'".to_owned(),
            _ => return None,
        },
        "float" => f32::from_bits(number as u32).to_string(),
        "double" => f64::from_bits(number as u64).to_string(),
        _ => {
            if let Some(size) = format.strip_prefix("unsigned ") {
                let bits =
                    size.parse::<u32>().ok()?.checked_mul(8).filter(|b| (8..=64).contains(b))?;
                return Some(((number as u64) & (u64::MAX >> (64 - bits))).to_string());
            }
            let constants = format.strip_prefix("enum ")?;
            let mut constants = constants.split(' ').filter_map(|one| one.split_once('='));
            let named = constants.find(|(_, value)| value.parse() == Ok(number));
            named?.0.to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TraceBuilder;

    #[test]
    fn values_are_written_by_type() {
        for (format, number, text) in [
            ("pointer", 0x7fff_1234, "0x7fff1234"),
            ("bool", 1, "true"),
            ("bool", 7, "7"),
            ("char", 97, "'a'"),
            ("char", -3, "-3"),
            ("float", i64::from(1.5f32.to_bits()), "1.5"),
            ("double", (-0.25f64).to_bits() as i64, "-0.25"),
            ("unsigned 4", -1, "4294967295"),
            ("unsigned 0", -1, "-1"),
            ("unsigned 99999999999", -1, "-1"),
            ("enum IDLE=0 BUSY=1", 1, "BUSY"),
            ("enum IDLE=0 BUSY=1", 2, "2"),
            ("something else", 2, "2"),
        ] {
            let mut b = TraceBuilder::new();
            let x = b.variable("a.x");
            b.set_meta("values of a.x", format);
            let trace = b.trace();
            assert_eq!(trace.shown_value(x, Value::Int(number)), text, "{format}");
        }
    }

    #[test]
    fn variables_without_a_format_have_signed_integers() {
        let mut b = TraceBuilder::new();
        let x = b.variable("x");
        assert_eq!(b.trace().shown_value(x, Value::Int(-1)), "-1");
    }
}
