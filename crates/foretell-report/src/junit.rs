//! JUnit XML: a test case for each recorded test, with a failure for each bug that it shows.

use std::io::{self, Write};

/// A test and what it shows.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Case {
    /// Name of the test.
    pub name: String,
    /// Bugs that count.
    pub failures: Vec<CaseFailure>,
}

/// A bug that a test shows.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct CaseFailure {
    /// Kind of the finding.
    pub kind: String,
    /// The finding in one sentence.
    pub message: String,
    /// The whole text of the finding.
    pub text: String,
}

/// Writes a file with one suite.
///
/// # Errors
/// Errors of `out`.
pub fn write(out: &mut dyn Write, cases: &[Case]) -> io::Result<()> {
    let failed = cases.iter().filter(|case| !case.failures.is_empty()).count();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites>")?;
    writeln!(
        out,
        " <testsuite name=\"foretell\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">",
        cases.len()
    )?;
    for case in cases {
        let name = escaped(&case.name);
        if case.failures.is_empty() {
            writeln!(out, "  <testcase classname=\"foretell\" name=\"{name}\"/>")?;
            continue;
        }
        writeln!(out, "  <testcase classname=\"foretell\" name=\"{name}\">")?;
        // A test case has one failure at most, says the schema that most readers use.
        let message: Vec<&str> = case.failures.iter().map(|f| f.message.as_str()).collect();
        let text: Vec<&str> = case.failures.iter().map(|f| f.text.trim_end()).collect();
        writeln!(
            out,
            "   <failure type=\"{}\" message=\"{}\">{}</failure>",
            escaped(&case.failures[0].kind),
            escaped(&message.join("; ")),
            escaped(&text.join("\n\n")),
        )?;
        writeln!(out, "  </testcase>")?;
    }
    writeln!(out, " </testsuite>\n</testsuites>")
}

/// A text as XML has it. Characters that XML cannot have are replaced.
fn escaped(text: &str) -> String {
    let mut xml = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\n' | '\t' => xml.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                xml.push(char::REPLACEMENT_CHARACTER);
            }
            c => xml.push(c),
        }
    }
    xml
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_are_escaped() {
        let failure = CaseFailure {
            kind: "race".to_owned(),
            message: "race-1: `a<b>` & \"c\"".to_owned(),
            text: "x\u{1b}\ny\n".to_owned(),
        };
        let cases = [
            Case { name: "a&b".to_owned(), failures: Vec::new() },
            Case { name: "c".to_owned(), failures: vec![failure] },
        ];
        let mut out = Vec::new();
        write(&mut out, &cases).expect("a vector takes everything");
        let xml = String::from_utf8(out).expect("text");
        assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
        assert!(xml.contains("<testcase classname=\"foretell\" name=\"a&amp;b\"/>"), "{xml}");
        let expected = "<failure type=\"race\" message=\"race-1: `a&lt;b&gt;` &amp; \
            &quot;c&quot;\">x\u{fffd}\ny</failure>";
        assert!(xml.contains(expected), "{xml}");
    }
}
