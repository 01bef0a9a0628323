//! Filter of control characters in what goes to standard output.
//!
//! Names of threads, variables and files come from traces, and a terminal obeys the control
//! characters in them. Every byte of standard output passes here: control characters but line ends
//! and tabs become `\u001b` and the like, which is what JSON has for them too. The colours of the
//! reports (`ESC [ … m`) pass if colours are on.

use std::borrow::Cow;

/// Longest sequence that sets a colour.
const LONGEST: usize = 16;

/// The filter, with the beginning of a character or sequence that is not complete yet.
pub(crate) struct ControlFilter {
    color: bool,
    held: Vec<u8>,
}

impl ControlFilter {
    /// Returns a filter that lets colours pass or not.
    pub(crate) fn new(color: bool) -> Self {
        ControlFilter { color, held: Vec::new() }
    }

    /// Returns the bytes to write for these.
    pub(crate) fn filter<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let is_suspect = |&b: &u8| (b < b' ' && b != b'\n' && b != b'\t') || b == 0x7f || b == 0xc2;
        if self.held.is_empty() && !bytes.iter().any(is_suspect) {
            return Cow::Borrowed(bytes);
        }
        let mut out = Vec::with_capacity(bytes.len() + 16);
        for &byte in bytes {
            self.byte(byte, &mut out);
        }
        Cow::Owned(out)
    }

    fn byte(&mut self, byte: u8, out: &mut Vec<u8>) {
        match self.held.first() {
            // The C1 controls are the characters U+0080 to U+009F.
            Some(0xc2) => {
                self.held.clear();
                if (0x80..0xa0).contains(&byte) {
                    escape(byte, out);
                    return;
                }
                out.push(0xc2);
            }
            Some(_) => {
                let goes_on = match self.held.len() {
                    1 => byte == b'[',
                    length => length < LONGEST && (byte.is_ascii_digit() || byte == b';'),
                };
                if goes_on {
                    self.held.push(byte);
                    return;
                }
                let held = std::mem::take(&mut self.held);
                if held.len() > 1 && byte == b'm' {
                    out.extend(held);
                    out.push(byte);
                    return;
                }
                escape(held[0], out);
                out.extend(&held[1..]);
            }
            None => {}
        }
        match byte {
            0xc2 => self.held.push(byte),
            0x1b if self.color => self.held.push(byte),
            b'\n' | b'\t' => out.push(byte),
            0..b' ' | 0x7f => escape(byte, out),
            _ => out.push(byte),
        }
    }
}

fn escape(byte: u8, out: &mut Vec<u8>) {
    out.extend(format!("\\u{byte:04x}").bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(color: bool, text: &str) -> String {
        let mut filter = ControlFilter::new(color);
        // One byte at a time, as the pieces of a format come.
        let bytes: Vec<u8> = text.bytes().flat_map(|b| filter.filter(&[b]).into_owned()).collect();
        let mut whole = ControlFilter::new(color);
        assert_eq!(whole.filter(text.as_bytes()), bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(filtered(false, "a\tb\n"), "a\tb\n");
        assert_eq!(filtered(false, "é€ Ã¢ \u{a0}"), "é€ Ã¢ \u{a0}");
        assert_eq!(filtered(false, "\x1b[31mx\x07\r\x7f"), "\\u001b[31mx\\u0007\\u000d\\u007f");
        assert_eq!(filtered(true, "\u{9b}31m"), "\\u009b31m");
    }

    #[test]
    fn only_colours_pass() {
        assert_eq!(filtered(true, "\x1b[1;31mx\x1b[0m"), "\x1b[1;31mx\x1b[0m");
        assert_eq!(filtered(true, "\x1b[2J\x1b]0;t\x07"), "\\u001b[2J\\u001b]0;t\\u0007");
        assert_eq!(filtered(true, "\x1b\x1b[0m"), "\\u001b\x1b[0m");
    }
}
