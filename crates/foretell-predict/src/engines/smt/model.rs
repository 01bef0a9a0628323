//! From the solver's values to an interleaving.

use foretell_model::TraceModel;
use foretell_trace::{EventId, ThreadId};
use rustc_hash::FxHashMap;

use crate::engines::bounds::Bounds;

/// The values of a model.
#[derive(Default)]
pub(super) struct Values {
    places: FxHashMap<EventId, i64>,
    ran: FxHashMap<EventId, bool>,
}

impl Values {
    /// Reads an answer to `get-value`, such as `((o1 5) (o2 (- 3)) (i4 true) (o5 #b01))`.
    pub(super) fn read(&mut self, answer: &str) -> Result<(), String> {
        let mut words = answer.split(|c: char| c.is_whitespace() || c == '(' || c == ')');
        let mut next = || words.find(|w| !w.is_empty());
        while let Some(name) = next() {
            let bad = || format!("the value of {name} cannot be read");
            let (prefix, number) = name.split_at_checked(1).ok_or_else(bad)?;
            let event = EventId(number.parse().map_err(|_| bad())?);
            let value = next().ok_or_else(bad)?;
            match (prefix, value) {
                ("i", "true" | "false") => drop(self.ran.insert(event, value == "true")),
                ("o", "-") => {
                    let value: i64 = next().and_then(|v| v.parse().ok()).ok_or_else(bad)?;
                    self.places.insert(event, -value);
                }
                ("o", value) => drop(self.places.insert(event, number_of(value).ok_or_else(bad)?)),
                _ => return Err(bad()),
            }
        }
        Ok(())
    }

    /// The interleaving that the values describe. Events without a place are free to come any time:
    /// they follow the one before them in their thread.
    pub(super) fn interleaving(
        &self,
        trace_model: &TraceModel<'_>,
        bounds: &Bounds,
    ) -> Vec<EventId> {
        let mut events = Vec::new();
        for t in (0..trace_model.chains.thread_count()).map(ThreadId::from_index) {
            let most = bounds.most[t.index()] as usize;
            let chain = &trace_model.chains.events(t)[..most];
            let known = chain.iter().rposition(|e| self.ran.get(e) == Some(&true));
            let count = known.map_or(0, |p| p + 1).max(bounds.least[t.index()] as usize);
            let mut place = i64::MIN;
            for &e in &chain[..count] {
                place = self.places.get(&e).copied().unwrap_or(place);
                events.push((place, t, e));
            }
        }
        // Stable, and within a thread places never fall: program order is kept.
        events.sort_by_key(|&(place, t, _)| (place, t));
        events.into_iter().map(|(_, _, e)| e).collect()
    }
}

fn number_of(value: &str) -> Option<i64> {
    if let Some(bits) = value.strip_prefix("#b") {
        i64::from_str_radix(bits, 2).ok()
    } else if let Some(digits) = value.strip_prefix("#x") {
        i64::from_str_radix(digits, 16).ok()
    } else {
        value.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_form() {
        let mut values = Values::default();
        values.read("((o1 5)\n (o2 (- 3)) (i4 true) (i5 false) (o5 #b01) (o6 #x1f))").unwrap();
        let places = [(1, 5), (2, -3), (5, 1), (6, 31)].map(|(e, v)| (EventId(e), v));
        assert_eq!(values.places, places.into_iter().collect());
        let ran = [(4, true), (5, false)].map(|(e, v)| (EventId(e), v));
        assert_eq!(values.ran, ran.into_iter().collect());
    }

    #[test]
    fn answer_without_a_value_is_an_error() {
        for answer in ["((o1 x))", "((o1))", "((i1 5))", "((z1 5))", "((o 5))", "sat"] {
            assert!(Values::default().read(answer).is_err(), "{answer}");
        }
    }
}
