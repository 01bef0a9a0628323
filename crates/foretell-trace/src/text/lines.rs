//! From events back to the lines they were read from.

use crate::EventId;

/// The line of each event, from 1.
///
/// Events mostly stand on consecutive lines, so only the locations where that breaks are kept.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LineMap {
    /// First event of a run of events on consecutive lines, and its line; ascending in both.
    runs: Vec<(EventId, usize)>,
    /// The line of the event after the last one if the last run goes on.
    next: usize,
}

impl LineMap {
    /// The line of an event; of the last event before it that has one, else 0.
    pub fn line(&self, event: EventId) -> usize {
        let after = self.runs.partition_point(|&(first, _)| first <= event);
        match after.checked_sub(1) {
            Some(i) => self.runs[i].1 + (event.index() - self.runs[i].0.index()),
            None => 0,
        }
    }

    /// Notes the line of the next event. Events come in order, each once.
    #[inline]
    pub(super) fn push(&mut self, event: EventId, line: usize) {
        if line != self.next || self.runs.is_empty() {
            self.runs.push((event, line));
        }
        self.next = line + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_break_where_lines_do() {
        let mut map = LineMap::default();
        let lines = [2, 3, 4, 7, 8, 20, 21, 22];
        for (i, &line) in lines.iter().enumerate() {
            foretell_limit::check();
            map.push(EventId(i as u32), line);
        }
        assert_eq!(map.runs.len(), 3);
        for (i, &line) in lines.iter().enumerate() {
            assert_eq!(map.line(EventId(i as u32)), line);
        }
        assert_eq!(LineMap::default().line(EventId(3)), 0);
    }
}
