//! Paths from a variable to one of its parts: `.stats_.executed`, `[3].next`.
//!
//! Members of library classes have reserved names (`_M_impl`), which a user of the library does not
//! know. A path through them keeps the indices and the names that are not reserved; if none are
//! left it keeps the last reserved name, unless the part is all that the library's object holds:
//! `count` for the member of a `std::atomic<int>`, `names._M_finish` for that of a `std::vector`.

use super::types::{Aggregate, Member, Type};
use super::{DebugInfo, MAX_NESTING, TypeId};

/// Most alternatives of a union, or bit-fields of a byte, in a name.
const MOST_ALTERNATIVES: usize = 3;

/// A part of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Path from the variable, with the offset that no member explains: `.next`, `[2]+4`.
    pub(crate) path: String,
    /// Format of the values, if the part is one scalar that is not a signed integer.
    pub(crate) format: Option<String>,
}

/// Use of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Whole {
    /// A value of this many bytes.
    Bytes(u64),
    /// A synchronisation object, of which only the address is known.
    Object,
}

/// One step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    /// Member, with the size of the aggregate.
    Name(String, u64),
    Index(u64),
}

/// Result of a walk from a type to a part.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Walk {
    steps: Vec<Step>,
    rest: u64,
    format: Option<String>,
    /// Whether the part is exactly a scalar.
    exact: bool,
}

impl DebugInfo {
    /// Returns the part of a variable of type `id` at `offset`. An array without a known length,
    /// such as an allocation, is `many` values of the type.
    pub(crate) fn place(&self, id: TypeId, many: bool, offset: u64, whole: Whole) -> Place {
        let mut offset = offset;
        let mut first = None;
        if many && let Some(size) = self.size_of(id).filter(|&size| size > 0) {
            first = Some(Step::Index(offset / size));
            offset %= size;
        }
        let len = match whole {
            Whole::Bytes(len) => len,
            Whole::Object => 1,
        };
        let mut walk = self.walk(id, offset, len, 0);
        walk.steps.splice(0..0, first);
        walk.place(whole)
    }

    fn walk(&self, id: TypeId, offset: u64, len: u64, depth: usize) -> Walk {
        let stop = Walk { steps: Vec::new(), rest: offset, format: None, exact: false };
        if depth > MAX_NESTING {
            return stop;
        }
        match &*self.parsed_type(id) {
            Type::Scalar { size, format } => {
                let exact = offset == 0 && *size == len;
                Walk { format: format.clone().filter(|_| exact), exact, ..stop }
            }
            Type::Array { element, element_size, count } => {
                let (index, inner) = (offset / element_size, offset % element_size);
                if count.is_some_and(|count| index >= count) || inner + len > *element_size {
                    return stop;
                }
                let mut walk = self.walk(*element, inner, len, depth + 1);
                walk.steps.insert(0, Step::Index(index));
                walk
            }
            Type::Aggregate(aggregate) => {
                self.member(aggregate, offset, len, depth).unwrap_or(stop)
            }
            Type::Unknown => stop,
        }
    }

    /// Returns the walk into the members that hold the part; none if several members together do.
    fn member(&self, aggregate: &Aggregate, offset: u64, len: u64, depth: usize) -> Option<Walk> {
        let end = offset.saturating_add(len);
        let members = aggregate.members.iter();
        let holds = |m: &&Member| m.offset <= offset && end <= m.offset.saturating_add(m.size);
        let meets = |m: &&Member| m.offset < end && offset < m.offset.saturating_add(m.size);
        let met: Vec<&Member> = members.filter(meets).collect();
        if !met.is_empty() && met.iter().all(|m| m.is_bit_field) {
            let names = met.iter().filter_map(|m| m.name.clone()).collect();
            let steps = vec![Step::Name(alternatives(names)?, aggregate.size)];
            return Some(Walk { steps, rest: 0, format: None, exact: false });
        }
        let into = |m: &Member| {
            let mut walk = self.walk(m.target, offset - m.offset, len, depth + 1);
            let name = m.name.clone().map(|name| Step::Name(name, aggregate.size));
            walk.steps.splice(0..0, name);
            walk
        };
        let mut walks: Vec<Walk> =
            met.iter().filter(|m| !m.is_bit_field).copied().filter(holds).map(into).collect();
        if walks.iter().any(|walk| walk.exact) {
            walks.retain(|walk| walk.exact);
        }
        walks.dedup();
        match walks.len() {
            0 | 1 => walks.pop(),
            // Alternatives of a union.
            _ => {
                let format = walks[0].format.clone();
                let same = walks.iter().all(|walk| walk.format == format);
                let names = walks.iter().map(|walk| walk.text(0..walk.steps.len())).collect();
                let steps = vec![Step::Name(alternatives(names)?, aggregate.size)];
                Some(Walk { steps, rest: 0, format: format.filter(|_| same), exact: same })
            }
        }
    }
}

impl Walk {
    /// Returns some of the steps as text, without a dot in front.
    fn text(&self, range: std::ops::Range<usize>) -> String {
        let mut text = String::new();
        for step in &self.steps[range] {
            step.append(&mut text);
        }
        text.strip_prefix('.').unwrap_or(&text).to_owned()
    }

    fn place(self, whole: Whole) -> Place {
        let reserved = |step: &Step| matches!(step, Step::Name(name, _) if is_reserved(name));
        let first = self.steps.iter().position(reserved).unwrap_or(self.steps.len());
        let (own, library) = self.steps.split_at(first);
        let mut path = String::new();
        own.iter().for_each(|step| step.append(&mut path));
        let format = self.format;
        // A library's object that one value fills, and a synchronisation object, are as a whole.
        let filled = match (library.first(), whole) {
            (Some(Step::Name(_, size)), Whole::Bytes(len)) => self.rest == 0 && *size == len,
            (_, whole) => whole == Whole::Object && (!library.is_empty() || self.rest == 0),
        };
        if filled {
            return Place { path, format };
        }
        let before = path.len();
        let known = library.iter().filter(|step| !reserved(step));
        known.for_each(|step| step.append(&mut path));
        if path.len() == before
            && let Some(last) = library.last()
        {
            last.append(&mut path);
        }
        if self.rest > 0 {
            path.push_str(&format!("+{}", self.rest));
        }
        Place { path, format }
    }
}

impl Step {
    fn append(&self, text: &mut String) {
        match self {
            Step::Name(name, _) => {
                text.push('.');
                text.push_str(name);
            }
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
}

/// Returns several names as one: `{a/b}`.
fn alternatives(mut names: Vec<String>) -> Option<String> {
    names.retain(|name| !name.is_empty());
    names.dedup();
    let more = names.len() > MOST_ALTERNATIVES;
    names.truncate(MOST_ALTERNATIVES);
    if more {
        names.push("…".to_owned());
    }
    match names.len() {
        0 => None,
        1 => names.pop(),
        _ => Some(format!("{{{}}}", names.join("/"))),
    }
}

/// Whether a name is one that C and C++ reserve for the implementation.
fn is_reserved(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next() == Some('_') && chars.next().is_some_and(|c| c == '_' || c.is_ascii_uppercase())
}
