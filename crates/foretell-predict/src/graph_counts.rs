//! Counts of witness graphs, in the columns of the nondeterminism paper's tables I and A1.

/// Witnesses and graphs, counted. The verdict on a read is that of the exact engine wherever a
/// witness was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphCounts {
    /// Possible witnesses: three for each read and challenger (column 2).
    pub witnesses: u64,
    /// Witness order graph cyclic: impossible (column 3).
    pub cyclic: u64,
    /// Acyclic, and no choice between sections matters (column 4).
    pub without_choice: u64,
    /// Acyclic, and choices matter (column 5).
    pub with_choice: u64,
    /// Choice graphs that there are for those that were not left open (column 6, as a sum).
    pub possible: u64,
    /// Choice graphs that were looked at (column 7, as a sum).
    pub explored: u64,
    /// With choices, and every choice graph cyclic: impossible.
    pub all_cyclic: u64,
    /// With more choices than are explored; left to the exact engine.
    pub left_open: u64,
    /// Queries that the graphs decided: no witness was left.
    pub refuted: u64,
    /// Queries with a witness left that the exact engine confirmed.
    pub confirmed: u64,
    /// Queries with a witness left that the exact engine refuted: third writers, or what the
    /// graphs do not know.
    pub unconfirmed: u64,
}

impl GraphCounts {
    /// Adds other counts to these.
    pub fn add(&mut self, other: &GraphCounts) {
        self.witnesses += other.witnesses;
        self.cyclic += other.cyclic;
        self.without_choice += other.without_choice;
        self.with_choice += other.with_choice;
        self.possible = self.possible.saturating_add(other.possible);
        self.explored += other.explored;
        self.all_cyclic += other.all_cyclic;
        self.left_open += other.left_open;
        self.refuted += other.refuted;
        self.confirmed += other.confirmed;
        self.unconfirmed += other.unconfirmed;
    }

    /// The counts by name.
    pub fn columns(&self) -> [(&'static str, u64); 11] {
        [
            ("possible_witnesses", self.witnesses),
            ("witnesses_cyclic", self.cyclic),
            ("witnesses_without_choice", self.without_choice),
            ("witnesses_with_choice", self.with_choice),
            ("choice_graphs_possible", self.possible),
            ("choice_graphs_explored", self.explored),
            ("witnesses_all_choices_cyclic", self.all_cyclic),
            ("witnesses_left_open", self.left_open),
            ("refuted_by_graphs", self.refuted),
            ("confirmed", self.confirmed),
            ("unconfirmed", self.unconfirmed),
        ]
    }
}
