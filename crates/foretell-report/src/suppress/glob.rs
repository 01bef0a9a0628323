//! Patterns for names.

/// A pattern with `*` for any text and `?` for any character.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Glob {
    pattern: Vec<char>,
}

impl Glob {
    /// The pattern for a whole name.
    pub(super) fn whole(pattern: &str) -> Self {
        Glob { pattern: pattern.chars().collect() }
    }

    /// ThreadSanitizer's: found anywhere in a name, unless `^` or `$` ties it to an end; `?` is no more than a
    /// question mark there, which no name has, so it need not be told apart.
    pub(super) fn tsan(pattern: &str) -> Self {
        let (start, pattern) = match pattern.strip_prefix('^') {
            Some(rest) => ("", rest),
            None => ("*", pattern),
        };
        let (end, pattern) = match pattern.strip_suffix('$') {
            Some(rest) => ("", rest),
            None => ("*", pattern),
        };
        Glob::whole(&format!("{start}{pattern}{end}"))
    }

    /// Whether it matches the whole of `text`.
    pub(super) fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        let (mut p, mut t) = (0, 0);
        // Where the last `*` was, and how much of the text it has eaten.
        let mut star: Option<(usize, usize)> = None;
        while t < text.len() {
            match self.pattern.get(p) {
                Some('*') => {
                    star = Some((p, t));
                    p += 1;
                }
                Some(&c) if c == '?' || c == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match star {
                    Some((at, eaten)) => {
                        star = Some((at, eaten + 1));
                        p = at + 1;
                        t = eaten + 1;
                    }
                    None => return false,
                },
            }
        }
        self.pattern[p..].iter().all(|&c| c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        let matches = |pattern, text| Glob::whole(pattern).matches(text);
        for (pattern, text) in
            [("", ""), ("*", ""), ("a*c", "abbc"), ("a?c", "abc"), ("*b*b*", "abab"), ("ü*", "üx")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", ""), ("a?c", "ac"), ("a*c", "abcd"), ("ab", "a")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
        // No exponential time.
        assert!(!matches(&"*a".repeat(40), &"a".repeat(39)));
    }

    #[test]
    fn those_of_thread_sanitizer_match_anywhere() {
        let matches = |pattern, text| Glob::tsan(pattern).matches(text);
        assert!(matches("info", "get_info_now"));
        assert!(matches("^get*now$", "get_info_now"));
        assert!(!matches("^info", "get_info_now"));
        assert!(!matches("info$", "get_info_now"));
    }
}
