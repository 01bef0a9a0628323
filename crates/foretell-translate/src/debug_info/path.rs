//! Paths from a variable to one of its parts: `.stats_.executed`, `[3].next`.
//!
//! Members of library classes, which in C++ have reserved names (`_M_impl`), are not known to a
//! user of the library. A path through them keeps the indices and the names of the program itself;
//! where it ends in the library's object it keeps the last name of the library, unless the part is
//! all that the object holds: `count` for the member of a `std::atomic<int>`, `names._M_finish` for
//! that of a `std::vector`.

use super::index::RustLibrary;
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
    /// Whether the part is one that Rust's library has for itself in a lock, a counted value or a
    /// thread.
    pub(crate) is_internal: bool,
}

impl Place {
    /// Returns a part of which only the offset is known.
    pub(crate) fn at(offset: u64) -> Place {
        let path = if offset == 0 { String::new() } else { format!("+{offset}") };
        Place { path, format: None, is_internal: false }
    }
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
    Name(String),
    /// Member of a library's class.
    Internal(Internal),
    Index(u64),
}

/// Member of a library's class.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Internal {
    name: String,
    /// Size of the class.
    size: u64,
    /// Whether the class is one of Rust's library for threads and locks.
    is_synchronisation: bool,
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
            let steps = vec![Step::member(alternatives(names)?, aggregate)];
            return Some(Walk { steps, rest: 0, format: None, exact: false });
        }
        let into = |m: &Member| {
            let mut walk = self.walk(m.target, offset - m.offset, len, depth + 1);
            if walk.exact && m.format.is_some() {
                walk.format = m.format.clone();
            }
            walk.steps.splice(0..0, m.name.clone().map(|name| Step::member(name, aggregate)));
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
                let names = walks.iter().map(Walk::text).collect();
                let steps = vec![Step::member(alternatives(names)?, aggregate)];
                Some(Walk { steps, rest: 0, format: format.filter(|_| same), exact: same })
            }
        }
    }
}

impl Walk {
    /// Returns the steps as text, without a dot in front.
    fn text(&self) -> String {
        let mut text = String::new();
        self.steps.iter().for_each(|step| step.append(&mut text));
        text.strip_prefix('.').unwrap_or(&text).to_owned()
    }

    fn place(mut self, whole: Whole) -> Place {
        // A synchronisation object of a library may begin with an array.
        while whole == Whole::Object
            && let [.., Step::Internal(_), Step::Index(_)] = self.steps[..]
        {
            self.steps.pop();
        }
        let internal = |step: &Step| match step {
            Step::Internal(member) => Some(member.clone()),
            _ => None,
        };
        let is_own = |step: &&Step| internal(step).is_none();
        let own = self.steps.iter().rposition(|step| is_own(&step)).map_or(0, |at| at + 1);
        let (known, library) = self.steps.split_at(own);
        let library: Vec<Internal> = library.iter().filter_map(internal).collect();
        let mut path = String::new();
        known.iter().filter(is_own).for_each(|step| step.append(&mut path));
        let format = self.format;
        // A library's object that one value fills, and a synchronisation object, are as a whole.
        let filled = match (library.first(), whole) {
            (Some(first), Whole::Bytes(len)) => self.rest == 0 && first.size == len,
            (_, whole) => whole == Whole::Object && (!library.is_empty() || self.rest == 0),
        };
        if filled {
            return Place { path, format, is_internal: false };
        }
        let last = library.into_iter().rfind(|member| !member.is_wrapper());
        let is_internal = last.as_ref().is_some_and(|member| member.is_synchronisation);
        if let Some(last) = last {
            Step::Internal(last).append(&mut path);
        }
        if self.rest > 0 {
            path.push_str(&format!("+{}", self.rest));
        }
        Place { path, format, is_internal }
    }
}

impl Internal {
    /// Whether the member is what a type of Rust's standard library wraps, whose name says nothing.
    fn is_wrapper(&self) -> bool {
        ["0", "data", "inner", "pointer", "v", "value"].contains(&self.name.as_str())
    }
}

impl Step {
    /// Returns the step to a member of an aggregate.
    fn member(name: String, aggregate: &Aggregate) -> Step {
        if aggregate.rust_library.is_none() && !is_reserved(&name) {
            return Step::Name(name);
        }
        let is_synchronisation = aggregate.rust_library == Some(RustLibrary::Synchronisation);
        Step::Internal(Internal { name, size: aggregate.size, is_synchronisation })
    }

    fn append(&self, text: &mut String) {
        match self {
            Step::Name(name) | Step::Internal(Internal { name, .. }) => {
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

/// Whether a name, or the first one of several alternatives, is one that C and C++ reserve for the
/// implementation.
fn is_reserved(name: &str) -> bool {
    let mut chars = name.trim_start_matches('{').chars();
    chars.next() == Some('_') && chars.next().is_some_and(|c| c == '_' || c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_the_c_library_are_reserved() {
        assert!(is_reserved("__data") && is_reserved("_M_impl") && is_reserved("{__data.__a/__b}"));
        assert!(!is_reserved("next") && !is_reserved("{a/b}") && !is_reserved("_x"));
    }
}
