//! What each kind of finding is, when it is benign and how it is usually fixed.
//!
//! One text for each kind, in Markdown under `assets/explain`: `foretell explain` prints it, SARIF carries it as the help
//! of the rule, and the book includes it.

use crate::json::Kind;

/// The whole text, in Markdown.
pub fn markdown(kind: Kind) -> &'static str {
    match kind {
        Kind::Race => include_str!("../assets/explain/race.md"),
        Kind::Atomicity => include_str!("../assets/explain/atomicity.md"),
        Kind::Serializability => include_str!("../assets/explain/serializability.md"),
        Kind::Transactions => include_str!("../assets/explain/transactions.md"),
        Kind::Nondeterminism => include_str!("../assets/explain/nondeterminism.md"),
        Kind::Deadlock => include_str!("../assets/explain/deadlock.md"),
    }
}

/// Its title.
pub fn title(kind: Kind) -> &'static str {
    markdown(kind).lines().next().unwrap_or_default().trim_start_matches("# ")
}

/// Its first paragraph.
pub fn summary(kind: Kind) -> &'static str {
    markdown(kind).split("\n\n").nth(1).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_explained() {
        for kind in Kind::ALL {
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
