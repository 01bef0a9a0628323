//! Names that trace text cannot write as they are.
//!
//! A name is any text without `|`, `(`, `)`, `,` and `=`, and white space around it is no part of
//! it. Names from elsewhere (a binary trace, a C++ signature) need not be like that. A text that
//! must hold such a name opens with `#! escaped`; from then on `%` and two hexadecimal digits stand
//! for one byte in every name, location and display name, and `%-` alone is the empty name. Texts
//! without that line know no escapes, so `%` means itself in everybody else's traces.

use std::borrow::Cow;
use std::fmt::Write;

use super::problem::quote;

/// Where a name stands; each location has its own forbidden characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Spot {
    /// The first field of a line.
    Thread,
    /// Between parentheses, or left of `=` in a declaration.
    Object,
    /// A memory block: the last word of a `#! part` line.
    Block,
    /// The third field: free text up to the end of the field.
    Location,
    /// A frame of the fourth field.
    Frame,
    /// The rest of a `#! name` line.
    Display,
}

/// The empty name in an escaped text.
const EMPTY: &str = "%-";

/// "No location", where RAPID wants a number.
pub(super) const NO_LOCATION: &str = "-1";

/// Whether the name reads back as it is in a text without escapes.
pub(super) fn is_plain(name: &str, spot: Spot) -> bool {
    let taken = match spot {
        Spot::Location => name == NO_LOCATION,
        Spot::Thread => name.starts_with('#'),
        Spot::Object | Spot::Block | Spot::Frame | Spot::Display => false,
    };
    let bare = !name.is_empty() && name.trim_ascii().len() == name.len();
    bare && !taken
        && !name.starts_with('\u{feff}')
        && !name.char_indices().any(|(at, c)| forbidden(name, at, c, spot))
}

/// Whether the character `c` at byte `at` of a name has a meaning of its own at that spot.
fn forbidden(name: &str, at: usize, c: char, spot: Spot) -> bool {
    match c {
        '|' => spot != Spot::Display,
        '(' | ')' | ',' | '=' => matches!(spot, Spot::Thread | Spot::Object | Spot::Block),
        ' ' => spot == Spot::Block,
        // A frame ends at ` < `; inside a frame `<` is fine as long as nothing can take it for
        // that.
        '<' if spot == Spot::Frame => {
            let (before, after) = (&name.as_bytes()[..at], &name.as_bytes()[at + 1..]);
            before.last().is_none_or(u8::is_ascii_whitespace)
                && after.first().is_none_or(u8::is_ascii_whitespace)
        }
        // A terminal would obey them.
        c => c.is_control(),
    }
}

/// The name as an escaped text writes it at that spot.
pub(super) fn encode(name: &str, spot: Spot) -> Cow<'_, str> {
    if name.is_empty() {
        return EMPTY.into();
    }
    if is_plain(name, spot) && !name.contains('%') {
        return name.into();
    }
    let body = name.trim_ascii();
    let start = name.len() - name.trim_ascii_start().len();
    let inside = start..start + body.len();
    let mut text = String::with_capacity(name.len() + 16);
    for (at, c) in name.char_indices() {
        let first = at == 0 && (c == '\u{feff}' || c == '#' || name == NO_LOCATION);
        if c == '%' || first || !inside.contains(&at) || forbidden(name, at, c, spot) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(text, "%{byte:02x}");
            }
        } else {
            text.push(c);
        }
    }
    text.into()
}

/// The name behind what an escaped text holds.
pub(super) fn decode(text: &str) -> Result<Cow<'_, str>, String> {
    if !text.contains('%') {
        return Ok(text.into());
    }
    if text == EMPTY {
        return Ok("".into());
    }
    let bad = || format!("{} holds a `%` without two hexadecimal digits after it", quote(text));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16)).ok_or_else(bad);
        let (high, low) = (digit()?, digit()?);
        bytes.push((high << 4 | low) as u8);
    }
    String::from_utf8(bytes)
        .map(Cow::from)
        .map_err(|_| format!("{} escapes bytes that are not UTF-8", quote(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_comes_back() {
        let names = [
            "",
            " ",
            "x",
            "a b",
            " a",
            "a\t",
            "f(int, x=3)",
            "a|b",
            "50%",
            "%41",
            "-1",
            "#1",
            "a#",
            "\n",
            "a\nb",
            "é|ü",
            "\u{feff}x",
            "a < b",
            "< b",
            "a <",
            "a<b>",
            "vector<int> x",
        ];
        for spot in
            [Spot::Thread, Spot::Object, Spot::Block, Spot::Location, Spot::Frame, Spot::Display]
        {
            for name in names {
                let text = encode(name, spot);
                assert_eq!(decode(&text).as_deref(), Ok(name), "{spot:?}");
                assert!(is_plain(&text, spot), "{text} at {spot:?}");
            }
        }
    }

    #[test]
    fn plain_names_are_left_alone() {
        assert_eq!(encode("Bank.java:41 <init>", Spot::Frame), "Bank.java:41 <init>");
        assert_eq!(encode("f(int, x=3)", Spot::Location), "f(int, x=3)");
        assert_eq!(encode("f(int)", Spot::Object), "f%28int%29");
        assert!(is_plain("100%", Spot::Object));
    }

    #[test]
    fn broken_escapes_are_said_so() {
        for text in ["%", "a%4", "%zz", "%-x"] {
            assert!(decode(text).is_err(), "{text}");
        }
        assert_eq!(decode("%ff").unwrap_err(), "`%ff` escapes bytes that are not UTF-8");
    }
}
