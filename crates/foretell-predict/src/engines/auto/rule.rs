//! Which engine for which query. Written by `bench/selection --write`; not by hand.

use super::features::{Feature, QueryShape};

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

/// Choice of an engine for one shape of query.
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
pub const LARGEST_SEGMENT: u32 = 703;

/// The rules; the order engine where there is none.
pub const RULES: &[(QueryShape, Rule)] = &[
    (
        QueryShape::Broken,
        Rule::Split {
            feature: Feature::Coupling,
            at_most: 11,
            then: &Rule::Split {
                feature: Feature::Waits,
                at_most: 0,
                then: &Rule::Always(Choice::Order),
                otherwise: &Rule::Always(Choice::Dpor),
            },
            otherwise: &Rule::Split {
                feature: Feature::Waits,
                at_most: 31,
                then: &Rule::Always(Choice::Order),
                otherwise: &Rule::Always(Choice::Dpor),
            },
        },
    ),
    (
        QueryShape::Overwritten,
        Rule::Split {
            feature: Feature::Waits,
            at_most: 20,
            then: &Rule::Always(Choice::Graph),
            otherwise: &Rule::Split {
                feature: Feature::Coupling,
                at_most: 11,
                then: &Rule::Always(Choice::Dpor),
                otherwise: &Rule::Always(Choice::Graph),
            },
        },
    ),
    (
        QueryShape::Path,
        Rule::Split {
            feature: Feature::Coupling,
            at_most: 37,
            then: &Rule::Split {
                feature: Feature::Waits,
                at_most: 4,
                then: &Rule::Always(Choice::Dpor),
                otherwise: &Rule::Always(Choice::Order),
            },
            otherwise: &Rule::Split {
                feature: Feature::Segment,
                at_most: 180,
                then: &Rule::Always(Choice::Dpor),
                otherwise: &Rule::Always(Choice::Order),
            },
        },
    ),
    (QueryShape::Cycle, Rule::Always(Choice::Dpor)),
];
