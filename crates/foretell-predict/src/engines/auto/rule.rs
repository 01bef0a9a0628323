//! Which engine for which query. Written by `bench/selection --write`; not by hand.

use super::features::{Feature, Kind};

/// An engine to choose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// The order engine.
    Order,
    /// The explicit engine with a small budget, then the order engine.
    Dpor,
    /// Choice graphs, then the order engine.
    Graph,
}

/// How to choose for a kind of query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Always the same.
    Always(Choice),
    /// It depends on one feature.
    Split {
        /// The feature.
        feature: Feature,
        /// The largest value for the first rule.
        at_most: u32,
        /// Up to there.
        then: &'static Rule,
        /// Above.
        otherwise: &'static Rule,
    },
}

/// States that the explicit engine looks at before the order engine takes over.
pub const DPOR_NODES: u64 = 2_000;

/// The largest segment that was measured. Above, the order engine decides.
pub const LARGEST_SEGMENT: u32 = 503;

/// The rules; the order engine where there is none.
pub const RULES: &[(Kind, Rule)] = &[
    (
        Kind::Broken,
        Rule::Split {
            feature: Feature::Segment,
            at_most: 67,
            then: &Rule::Split {
                feature: Feature::Waits,
                at_most: 0,
                then: &Rule::Always(Choice::Order),
                otherwise: &Rule::Always(Choice::Dpor),
            },
            otherwise: &Rule::Split {
                feature: Feature::Locks,
                at_most: 0,
                then: &Rule::Always(Choice::Dpor),
                otherwise: &Rule::Always(Choice::Order),
            },
        },
    ),
    (Kind::Overwritten, Rule::Always(Choice::Graph)),
    (
        Kind::Path,
        Rule::Split {
            feature: Feature::Segment,
            at_most: 104,
            then: &Rule::Split {
                feature: Feature::Locks,
                at_most: 8,
                then: &Rule::Always(Choice::Dpor),
                otherwise: &Rule::Always(Choice::Order),
            },
            otherwise: &Rule::Split {
                feature: Feature::Coupling,
                at_most: 53,
                then: &Rule::Always(Choice::Dpor),
                otherwise: &Rule::Always(Choice::Order),
            },
        },
    ),
    (
        Kind::Cycle,
        Rule::Split {
            feature: Feature::Locks,
            at_most: 32,
            then: &Rule::Split {
                feature: Feature::Candidates,
                at_most: 3,
                then: &Rule::Always(Choice::Order),
                otherwise: &Rule::Always(Choice::Dpor),
            },
            otherwise: &Rule::Always(Choice::Order),
        },
    ),
];
