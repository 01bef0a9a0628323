//! The part of a source line that is an access.
//!
//! Debug information of the recorder gives lines, not columns. The name of the variable or lock is
//! searched for in the line as a word of its own (`table` for `table+16`, `done` for
//! `main::job.done`); without a match the whole text of the line counts. A line with two accesses to
//! one variable underlines the first.

use std::ops::Range;

/// The characters of `line` that stand for an access to `object`.
pub(crate) fn of(line: &str, object: Option<&str>) -> Range<usize> {
    let chars: Vec<char> = line.chars().collect();
    let mut names = object.map(stems).unwrap_or_default().into_iter();
    names.find_map(|name| word(&chars, name)).unwrap_or_else(|| text(&chars))
}

/// Returns the identifiers of an object's name to search for: the last member, then the variable
/// (`done` and `job` for `main::job.done`). The name of an allocation has no variable.
fn stems(object: &str) -> Vec<&str> {
    let allocated = object.split_once('#').map(|(_, path)| path);
    let path = allocated.unwrap_or(object);
    let path = path.find(['+', '~', '@']).map_or(path, |end| &path[..end]);
    let path = path.trim_start_matches(|c: char| c.is_ascii_digit());
    let mut names: Vec<&str> = path.split(|c: char| !is_word(c)).collect();
    names.retain(|name| !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()));
    let last = names.last().copied();
    let variable = path.split(['.', '[']).next().unwrap_or(path);
    let variable = variable.rsplit("::").next().filter(|_| allocated.is_none());
    let mut found: Vec<&str> = last.into_iter().chain(variable).collect();
    found.dedup();
    found
}

fn is_word(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric()
}

fn word(line: &[char], name: &str) -> Option<Range<usize>> {
    let name: Vec<char> = name.chars().collect();
    if name.is_empty() || name[0].is_ascii_digit() {
        return None;
    }
    let free = |at: Option<&char>| at.is_none_or(|&c| !is_word(c));
    (0..line.len()).map(|start| start..start + name.len()).find(|range| {
        line.get(range.clone()) == Some(&name[..])
            && (range.start == 0 || free(line.get(range.start - 1)))
            && free(line.get(range.end))
    })
}

/// The line without the space around it.
fn text(line: &[char]) -> Range<usize> {
    let start = line.iter().position(|c| !c.is_whitespace()).unwrap_or(0);
    let end = line.iter().rposition(|c| !c.is_whitespace()).map_or(start, |last| last + 1);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_as_a_word() {
        let found = |line: &str, object| {
            let chars: Vec<char> = line.chars().collect();
            chars[of(line, object)].iter().collect::<String>()
        };
        assert_eq!(of("  if (shared != x)", Some("shared")), 6..12);
        assert_eq!(of("unshared + shared", Some("shared")), 11..17);
        assert_eq!(found("  table[2] = 1;", Some("table+16")), "table");
        assert_eq!(found("  this.balance += 1;", Some("Account.balance")), "balance");
        assert_eq!(found("  *p = 1; ", Some("heap@a.c:3#1")), "*p = 1;");
        assert_eq!(found("  *p = 1; ", Some("0x7f")), "*p = 1;");
        assert_eq!(found("  j->done++;", Some("main::job.done")), "done");
        assert_eq!(found("  job = other;", Some("main::job.done")), "job");
        assert_eq!(found("  n->next = 0;", Some("node@a.c:3#1.next")), "next");
        assert_eq!(found("  arr[3].next = 0;", Some("arr[3].next")), "next");
        assert_eq!(found("  memset(arr, 0, n);", Some("arr[3].next")), "arr");
        assert_eq!(found("  buffer[i] = 1;", Some("worker::buffer@T2[4]")), "buffer");
        assert_eq!(found("\tlöschen(ä);", Some("ä")), "ä");
        assert_eq!(found("   ", None), "");
    }
}
