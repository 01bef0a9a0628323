//! Clauses of reads: which write a read sees, and which it must not.

use std::borrow::Cow;

use foretell_order::Lit;
use foretell_trace::{EventId, Model};

use super::Encoding;

impl Encoding<'_> {
    /// `read` saw `seen`, but must see a write that preserves it.
    pub(super) fn read(&mut self, read: EventId, seen: Option<EventId>) {
        if self.trace_model.uses_hidden_state(read) {
            return self.hidden_use(read, seen);
        }
        let new = !self.sees.contains_key(&read);
        if new {
            self.write_read(read);
        }
        let Some(seen) = seen else { return };
        let sees = self.sees.get(&read).cloned().unwrap_or_default();
        for &(writer, lit) in &sees {
            foretell_limit::check();
            let claimed = if new { sees.len() == 1 } else { self.solver.value(lit) };
            if writer != Some(seen) && claimed {
                self.nothing_between(lit, writer, read, seen);
            }
        }
    }

    /// Writes down that a kept read sees one of the writers that preserve it.
    pub(super) fn write_read(&mut self, read: EventId) {
        self.learnt += 1;
        let kept = self.kept(read);
        let writers = self.writers(read, true);
        if let [writer] = writers[..]
            && writer.is_none_or(|w| !self.trace_model.trace.op(w).reads())
        {
            if let Some(w) = writer {
                let before = self.less(w, read);
                self.solver.add_clause(&[!kept, before]);
            }
            self.sees.insert(read, vec![(writer, kept)]);
            return;
        }
        let mut clause = vec![!kept];
        let mut sees = Vec::with_capacity(writers.len());
        for writer in writers {
            foretell_limit::check();
            let lit = self.solver.new_var();
            clause.push(lit);
            sees.push((writer, lit));
            if let Some(w) = writer {
                let before = self.less(w, read);
                self.solver.add_clause(&[!lit, before]);
                if self.trace_model.trace.op(w).reads() && !mutated!(UpdatesAreAlwaysIntact) {
                    let intact = self.kept(w);
                    self.solver.add_clause(&[!lit, intact]);
                }
            }
        }
        self.solver.add_clause(&clause);
        self.sees.insert(read, sees);
    }

    /// The writers that `read` could see by program order and must-happen-before, and that
    /// preserve it, or those that do not.
    pub(in crate::engines::order) fn writers(
        &self,
        read: EventId,
        preserving: bool,
    ) -> Vec<Option<EventId>> {
        let trace_model = self.trace_model;
        let (trace, chains, reads_from) =
            (trace_model.trace, &trace_model.chains, &trace_model.reads_from);
        let Some(x) = trace.variable(read) else { return Vec::new() };
        let thread = trace.thread(read);
        // The last write of the same thread hides the earlier ones and the initial value.
        let own = reads_from.own_write(trace, read);
        let candidates: Cow<'_, [EventId]> = match (trace_model.model, trace.read_value(read)) {
            (Model::Value, Some(value)) if preserving && !trace_model.uses_hidden_state(read) => {
                let mut equal = reads_from.writes_of_value(trace, x, value).to_vec();
                equal.extend(reads_from.observed(read));
                equal.sort_unstable();
                equal.dedup();
                equal.into()
            }
            (Model::View | Model::Value, _) if preserving => {
                reads_from.observed(read).into_iter().collect::<Vec<_>>().into()
            }
            _ => reads_from.writes(x).into(),
        };
        let mut writers = Vec::new();
        for &w in candidates.iter() {
            foretell_limit::check();
            if trace.thread(w) != thread
                && reads_from.preserves(trace, read, Some(w)) == preserving
                && !(mutated!(OnlyTheObservedWriter)
                    && preserving
                    && reads_from.observed(read) != Some(w))
                && !trace_model.must_happen_before.ordered_before(chains, trace, read, w)
            {
                writers.push(Some(w));
            }
        }
        if reads_from.preserves(trace, read, own) == preserving {
            writers.push(own);
        }
        if let Some(own) = own {
            writers.retain(|w| {
                w.is_none_or(|w| {
                    w == own
                        || !trace_model.must_happen_before.ordered_before(chains, trace, w, own)
                })
            });
        }
        writers
    }

    /// If `lit` (which says that `read` sees `writer`), `other` is not between the two.
    pub(in crate::engines::order) fn nothing_between(
        &mut self,
        lit: Lit,
        writer: Option<EventId>,
        read: EventId,
        other: EventId,
    ) {
        debug_assert!(other != read && Some(other) != writer, "a third write");
        debug_assert!(self.trace_model.trace.op(other).writes(), "a read comes between nothing");
        if mutated!(ThirdWritersBetween) || !self.between.insert((lit, other)) {
            return;
        }
        self.learnt += 1;
        let after = self.less(read, other);
        match writer {
            Some(w) => {
                let before = self.less(other, w);
                self.solver.add_clause(&[!lit, before, after]);
            }
            None => {
                self.solver.add_clause(&[!lit, after]);
            }
        }
    }

    /// A literal that implies that `read` is broken, once all its third writers are
    /// written down ([`Encoding::challenged`]).
    pub(crate) fn broken(&mut self, read: EventId) -> Lit {
        let lit = self.solver.new_var();
        let mut clause = vec![!lit];
        for writer in self.writers(read, false) {
            clause.push(self.challenge(read, writer));
        }
        // An update that would preserve the read does not if it is broken itself.
        for writer in self.writers(read, true) {
            let Some(w) = writer else { continue };
            if self.trace_model.trace.op(w).reads()
                && self.trace_model.trace.thread(w) != self.trace_model.trace.thread(read)
                && !mutated!(UpdatesNeverBreakReaders)
            {
                clause.push(self.challenge(read, writer));
            }
        }
        self.solver.add_clause(&clause);
        lit
    }

    /// A literal that implies that `read` sees one of `writers`, which break it, once all its third
    /// writers are written down ([`Encoding::challenged`]). Updates among them are intact.
    pub(crate) fn sees_one_of(&mut self, read: EventId, writers: &[Option<EventId>]) -> Lit {
        let lit = self.solver.new_var();
        let mut clause = vec![!lit];
        for &writer in writers {
            let sees = self.challenge(read, writer);
            let choice = self.solver.new_var();
            self.solver.add_clause(&[!choice, sees]);
            if let Some(w) = writer
                && self.trace_model.trace.op(w).reads()
            {
                let intact = self.kept(w);
                self.solver.add_clause(&[!choice, intact]);
            }
            clause.push(choice);
        }
        self.solver.add_clause(&clause);
        lit
    }

    /// The literal "`read` sees `writer`", for a writer that breaks it.
    pub(super) fn challenge(&mut self, read: EventId, writer: Option<EventId>) -> Lit {
        let known = self.challenges.entry(read).or_default();
        if let Some(&(_, lit)) = known.iter().find(|(w, _)| *w == writer) {
            return lit;
        }
        let lit = self.solver.new_var();
        known.push((writer, lit));
        let Some(w) = writer else { return lit };
        let before = self.less(w, read);
        self.solver.add_clause(&[!lit, before]);
        if self.trace_model.reads_from.preserves(self.trace_model.trace, read, writer) {
            // An update that breaks all reads that see it: it is the last of its thread, and
            // broken.
            if let Some(next) = self.trace_model.chains.next(self.trace_model.trace, w) {
                let next = self.ran(next);
                self.solver.add_clause(&[!lit, !next]);
            }
            let broken = self.broken(w);
            self.solver.add_clause(&[!lit, broken]);
        }
        lit
    }

    /// The reads that are claimed to be broken in the current model, starting from `read`: itself,
    /// the broken update it is said to see, the one that this sees, …
    pub(crate) fn claimed_broken(&self, read: EventId) -> Vec<EventId> {
        let mut reads = vec![read];
        let mut next = 0;
        while let Some(&r) = reads.get(next) {
            foretell_limit::check();
            next += 1;
            let claims = self.challenges.get(&r).map_or(&[][..], Vec::as_slice);
            for &(writer, lit) in claims {
                if let Some(w) = writer
                    && self.trace_model.trace.op(w).reads()
                    && self.solver.value(lit)
                    && !reads.contains(&w)
                {
                    reads.push(w);
                }
            }
        }
        reads
    }

    /// Learns that `read` saw `seen`, against a claim that it saw another write.
    pub(crate) fn challenged(&mut self, read: EventId, seen: Option<EventId>) {
        let Some(seen) = seen else { return };
        for (writer, lit) in self.challenges.get(&read).cloned().unwrap_or_default() {
            if writer != Some(seen) && self.solver.value(lit) && !mutated!(ChallengersAreHidden) {
                self.nothing_between(lit, writer, read, seen);
            }
        }
    }
}
