//! Patterns for names: `*` is any text, `?` any character, everything else stands for itself.
//!
//! The matcher is the `wildmatch` crate. It has no escapes, no classes and no separators, so that
//! names such as `operator[]`, `{lambda()#1}`, `std::map` and `a/b.c` need no quoting.

use wildmatch::WildMatch;

/// Returns the matcher of a pattern for a whole name.
pub(super) fn whole(pattern: &str) -> WildMatch {
    WildMatch::new(pattern)
}

/// Returns the matcher of a ThreadSanitizer pattern: found anywhere in a name, unless `^` or `$`
/// ties it to an end.
///
/// There `?` is a question mark. Names have none, so a `?` that matches any character will do.
pub(super) fn thread_sanitizer(pattern: &str) -> WildMatch {
    let (start, pattern) = match pattern.strip_prefix('^') {
        Some(rest) => ("", rest),
        None => ("*", pattern),
    };
    let (end, pattern) = match pattern.strip_suffix('$') {
        Some(rest) => ("", rest),
        None => ("*", pattern),
    };
    whole(&format!("{start}{pattern}{end}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        let matches = |pattern, text| whole(pattern).matches(text);
        for (pattern, text) in
            [("", ""), ("*", ""), ("a*c", "abbc"), ("a?c", "abc"), ("*b*b*", "abab"), ("ü*", "üx")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", ""), ("a?c", "ac"), ("a*c", "abcd"), ("ab", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        for name in ["operator[]", "{lambda()#1}", "std::map", "a/b.c", "a\\*"] {
            assert!(matches(name, name) && matches("*", name), "{name}");
        }
        assert!(!matches("[ab]", "a") && !matches("\\?", "?") && !matches("A", "a"));
        // No exponential time.
        assert!(!matches(&"*a".repeat(40), &"a".repeat(39)));
    }

    #[test]
    fn thread_sanitizer_patterns_match_anywhere() {
        let matches = |pattern, text| thread_sanitizer(pattern).matches(text);
        assert!(matches("info", "get_info_now"));
        assert!(matches("^get*now$", "get_info_now"));
        assert!(!matches("^info", "get_info_now"));
        assert!(!matches("info$", "get_info_now"));
    }
}
