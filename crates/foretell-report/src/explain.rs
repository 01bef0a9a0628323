//! Texts about each kind of finding: its meaning, when it is benign, how it is usually fixed.
//!
//! One text for each kind, in Markdown under `assets/explain`: `foretell explain` prints it, SARIF
//! carries it as the help of the rule, and the book includes it.

use std::io::{self, Write};

use foretell_trace::FindingKind;

use crate::text::Look;

/// Returns the whole text, in Markdown.
pub(crate) fn markdown(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Observed => include_str!("../assets/explain/observed.md"),
        FindingKind::Race => include_str!("../assets/explain/race.md"),
        FindingKind::Atomicity => include_str!("../assets/explain/atomicity.md"),
        FindingKind::Serializability => include_str!("../assets/explain/serializability.md"),
        FindingKind::Transactions => include_str!("../assets/explain/transactions.md"),
        FindingKind::Nondeterminism => include_str!("../assets/explain/nondeterminism.md"),
        FindingKind::Deadlock => include_str!("../assets/explain/deadlock.md"),
        FindingKind::Hang => include_str!("../assets/explain/hang.md"),
        FindingKind::Lifetime => include_str!("../assets/explain/lifetime.md"),
    }
}

/// Returns the title of the text.
pub fn title(kind: FindingKind) -> &'static str {
    markdown(kind).lines().next().unwrap_or_default().trim_start_matches("# ")
}

/// Returns the first paragraph of the text.
pub(crate) fn summary(kind: FindingKind) -> &'static str {
    markdown(kind).split("\n\n").nth(1).unwrap_or_default()
}

/// Writes the text for a terminal.
///
/// # Errors
/// Errors of `out`.
pub fn write(out: &mut dyn Write, kind: FindingKind, look: &Look) -> io::Result<()> {
    for (i, block) in markdown(kind).trim_end().split("\n\n").enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        let heading = block.trim_start_matches('#');
        if heading.len() < block.len() {
            writeln!(out, "{}", look.heading(heading.trim()))?;
            continue;
        }
        for line in block.lines() {
            let indent = if line.starts_with("- ") { 2 } else { 0 };
            look.paragraph(out, line, indent)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_explained() {
        for kind in FindingKind::ALL {
            assert!(!title(kind).is_empty() && !title(kind).contains('#'), "{kind}");
            // The limits of what code scanning shows.
            assert!((40..1024).contains(&summary(kind).len()), "{kind}");
            for part in ["## When it matters", "## When it is benign", "## How it is usually fixed"]
            {
                assert!(markdown(kind).contains(part), "{kind}: {part}");
            }
        }
    }
}
