//! Values as trace text writes them.

use super::problem::quote;
use crate::Value;

/// Reads a value: a decimal 64-bit integer, `0x…` (both may go up to 2⁶⁴ − 1 and are then taken as
/// two's complement), or a bit-vector `#x…`, `#b…` of 1 to 64 bits.
pub(crate) fn parse_value(text: &str) -> Result<Value, String> {
    if let Some(value) = short_decimal(text.as_bytes()) {
        return Ok(Value::Int(value));
    }
    match text.as_bytes() {
        [b'#', b'x' | b'X', digits @ ..] => bits(text, digits, 4),
        [b'#', b'b' | b'B', digits @ ..] => bits(text, digits, 1),
        [b'0', b'x' | b'X', ..] => hexadecimal(text),
        _ => decimal(text),
    }
}

/// The common case, without a check for overflow: up to 18 digits, perhaps with a minus.
#[inline]
fn short_decimal(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

fn decimal(text: &str) -> Result<Value, String> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(format!("value {} is no integer", quote(text)));
    }
    text.parse::<i64>()
        .or_else(|_| text.parse::<u64>().map(|v| v as i64))
        .map(Value::Int)
        .map_err(|_| format!("value {} does not fit 64 bits", quote(text)))
}

fn hexadecimal(text: &str) -> Result<Value, String> {
    let digits = &text[2..];
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(format!("value {} is no integer", quote(text)));
    }
    u64::from_str_radix(digits, 16)
        .map(|v| Value::Int(v as i64))
        .map_err(|_| format!("value {} does not fit 64 bits", quote(text)))
}

fn bits(text: &str, digits: &[u8], bits_each: usize) -> Result<Value, String> {
    let mut bits = 0u64;
    for &digit in digits {
        let digit = char::from(digit).to_digit(1 << bits_each);
        let digit = digit.ok_or_else(|| format!("value {} is no bit-vector", quote(text)))?;
        bits = bits << bits_each | u64::from(digit);
    }
    match digits.len().saturating_mul(bits_each) {
        0 => Err(format!("bit-vector {} has no digits", quote(text))),
        width @ 1..=64 => Ok(Value::Bits { width: width as u8, bits }),
        width => Err(format!("bit-vector {} has {width} bits; at most 64", quote(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_value() {
        let int = |i| Ok(Value::Int(i));
        assert_eq!(parse_value("0"), int(0));
        assert_eq!(parse_value("-0"), int(0));
        assert_eq!(parse_value("007"), int(7));
        assert_eq!(parse_value("-7"), int(-7));
        assert_eq!(parse_value("-9223372036854775808"), int(i64::MIN));
        assert_eq!(parse_value("9223372036854775807"), int(i64::MAX));
        assert_eq!(parse_value("18446744073709551615"), int(-1));
        assert_eq!(parse_value("0xFf"), int(255));
        assert_eq!(parse_value("0x8000000000000000"), int(i64::MIN));
        assert_eq!(parse_value("0xffffffffffffffff"), int(-1));
        assert_eq!(parse_value("#b101"), Ok(Value::Bits { width: 3, bits: 5 }));
        assert_eq!(parse_value("#x0F"), Ok(Value::Bits { width: 8, bits: 15 }));
        assert_eq!(
            parse_value("#xffffffffffffffff"),
            Ok(Value::Bits { width: 64, bits: u64::MAX })
        );
        let bad = [
            ("abc", "value `abc` is no integer"),
            ("", "value `` is no integer"),
            ("-", "value `-` is no integer"),
            ("+5", "value `+5` is no integer"),
            ("5 6", "value `5 6` is no integer"),
            ("0x", "value `0x` is no integer"),
            ("0x-1", "value `0x-1` is no integer"),
            ("18446744073709551616", "value `18446744073709551616` does not fit 64 bits"),
            ("-9223372036854775809", "value `-9223372036854775809` does not fit 64 bits"),
            ("#x", "bit-vector `#x` has no digits"),
            ("#b012", "value `#b012` is no bit-vector"),
            ("#x00000000000000001", "bit-vector `#x00000000000000001` has 68 bits; at most 64"),
        ];
        for (text, message) in bad {
            assert_eq!(parse_value(text), Err(message.to_owned()));
        }
    }
}
