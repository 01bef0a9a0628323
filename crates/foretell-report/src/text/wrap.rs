//! Text fitted to a width, by what characters take on a terminal.

use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The narrowest that text is ever made.
const NARROWEST: usize = 20;

/// `text` broken at spaces into lines of at most `width`, all but the first indented. A word
/// longer than a line has one to itself.
pub(super) fn lines(text: &str, width: usize, indent: usize) -> Vec<String> {
    let width = width.max(NARROWEST);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let wide = word.width();
        if used > 0 && used + 1 + wide > width {
            lines.push(" ".repeat(indent));
            used = 0;
        }
        let last = lines.len() - 1;
        if used > 0 {
            lines[last].push(' ');
            used += 1;
        } else if last > 0 {
            used = indent;
        }
        lines[last].push_str(word);
        used += wide;
    }
    lines
}

/// Writes wrapped text.
pub(super) fn write(
    out: &mut dyn Write,
    text: &str,
    width: usize,
    indent: usize,
) -> io::Result<()> {
    for line in lines(text, width, indent) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// `text` in exactly `width` columns: cut with `…` or filled with spaces.
pub(super) fn fitted(text: &str, width: usize) -> String {
    let mut fitted = clipped(text, width);
    let used = fitted.width();
    fitted.extend(std::iter::repeat_n(' ', width.saturating_sub(used)));
    fitted
}

/// `text` in at most `width` columns, the end cut off with `…` where it is longer.
pub(super) fn clipped(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut clipped = String::new();
    let mut used = 0;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        clipped.push(c);
    }
    if width > 0 {
        clipped.push('…');
    }
    clipped
}

/// `text` in at most `width` columns, the start cut off with `…` where it is longer: of a path,
/// the end matters.
pub(super) fn clipped_at_start(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 0;
    for c in text.chars().rev() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept.into_iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces() {
        let text = "one two three four five six seven";
        assert_eq!(lines(text, 20, 2), ["one two three four", "  five six seven"]);
        assert_eq!(lines("short", 20, 2), ["short"]);
        let long = "a/very/long/path/with/no/space.c:41";
        assert_eq!(
            lines(&format!("at {long} there"), 20, 2),
            ["at", &format!("  {long}"), "  there"]
        );
    }

    #[test]
    fn cells_have_the_width_asked_for() {
        assert_eq!(fitted("abc", 5), "abc  ");
        assert_eq!(fitted("abcdef", 5), "abcd…");
        assert_eq!(fitted("日本語", 5), "日本…");
        assert_eq!(fitted("日本語", 4), "日… ");
        assert_eq!(fitted("abc", 0), "");
        assert_eq!(clipped_at_start("src/bank.c:41", 10), "…bank.c:41");
        assert_eq!(clipped_at_start("日本語", 4), "…語");
    }
}
