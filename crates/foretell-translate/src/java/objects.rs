//! Names of Java objects: the class, the location of the allocation, and the ordinal among the
//! objects of that class from that line.

use rustc_hash::FxHashMap;

use super::tables::Tables;

/// Objects of a log.
#[derive(Default)]
pub(crate) struct Objects {
    /// Class number, location and ordinal of each object, by its number.
    known: Vec<(u32, u32, u32)>,
    classes: Vec<String>,
    names: FxHashMap<u32, String>,
    /// Number of objects of each class from each line so far.
    counts: FxHashMap<(u32, (u32, u32)), u32>,
}

impl Objects {
    pub(crate) fn object(&mut self, id: u32, class: u32) {
        if let Some(slot) = slot(&mut self.known, id) {
            slot.0 = class;
        }
    }

    pub(crate) fn made(&mut self, id: u32, site: u32, tables: &Tables) {
        let Some(known) = slot(&mut self.known, id) else { return };
        let n = self.counts.entry((known.0, tables.line_key(site))).or_insert(0);
        *n += 1;
        *known = (known.0, site, *n);
    }

    /// Whether the creation of an object is in the log.
    pub(crate) fn is_made(&self, id: u32) -> bool {
        self.known.get(id as usize).is_some_and(|known| known.2 > 0)
    }

    /// Whether an array holds references.
    pub(crate) fn holds_references(&self, array: u32) -> bool {
        let name = self.class_of(array);
        name.strip_suffix("[]").is_some_and(|element| {
            !["int", "long", "byte", "char", "short", "boolean", "float", "double"]
                .contains(&element)
        })
    }

    /// Whether an object is an atomic reference, or an array of them.
    pub(crate) fn is_atomic_reference(&self, object: u32) -> bool {
        self.class_of(object).starts_with("AtomicReference")
    }

    fn class_of(&self, object: u32) -> &str {
        let class = self.known.get(object as usize).map_or(0, |known| known.0);
        self.classes.get(class as usize).map_or("", String::as_str)
    }

    pub(crate) fn class_name(&mut self, class: u32, name: &str) {
        if let Some(slot) = slot(&mut self.classes, class) {
            *slot = readable(name);
        }
    }

    /// Returns the name of an object: `Account@Bank.java:12#1`. An object whose creation is not in
    /// the log gets its ordinal at the first request.
    pub(crate) fn name(&mut self, id: u32, tables: &Tables) -> String {
        if let Some(name) = self.names.get(&id) {
            return name.clone();
        }
        let (class, site, n) = self.known.get(id as usize).copied().unwrap_or_default();
        let class_name = self.classes.get(class as usize).map_or("object", String::as_str);
        let name = if class_name.ends_with(".class") {
            class_name.to_owned()
        } else {
            let unseen = self.counts.entry((class, (0, 0))).or_insert(0);
            *unseen += u32::from(n == 0);
            let n = if n == 0 { *unseen } else { n };
            match tables.source_line(site) {
                Some(line) => format!("{class_name}@{line}#{n}"),
                None => format!("{class_name}#{n}"),
            }
        };
        self.names.insert(id, name.clone());
        name
    }
}

/// Returns the item with a number. Numbers are consecutive: `None` for one of a damaged log.
fn slot<T: Default + Clone>(list: &mut Vec<T>, number: u32) -> Option<&mut T> {
    let at = number as usize;
    if list.len() <= at && at < list.len() + 1000 {
        list.resize(at + 1, T::default());
    }
    list.get_mut(at)
}

/// Returns a class name as in the source: without the package, `int[]` for `[I`.
fn readable(name: &str) -> String {
    let dimensions = name.len() - name.trim_start_matches('[').len();
    let element = &name[dimensions..];
    let element = match (dimensions, element) {
        (0, name) => name,
        (_, "Z") => "boolean",
        (_, "B") => "byte",
        (_, "C") => "char",
        (_, "S") => "short",
        (_, "I") => "int",
        (_, "J") => "long",
        (_, "F") => "float",
        (_, "D") => "double",
        (_, name) => name.strip_prefix('L').map_or(name, |n| n.strip_suffix(';').unwrap_or(n)),
    };
    let (element, suffix) = match element.strip_suffix(".class") {
        Some(class) => (class, ".class"),
        None => (element, ""),
    };
    // The name of a lambda's hidden class has a number that differs from run to run.
    let element = element.split_once('/').map_or(element, |(name, _)| name);
    let simple = element.rsplit('.').next().unwrap_or(element);
    format!("{simple}{suffix}{}", "[]".repeat(dimensions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_are_readable() {
        assert_eq!(readable("java.lang.Object"), "Object");
        assert_eq!(readable("[[I"), "int[][]");
        assert_eq!(readable("[Ljava.lang.Thread;"), "Thread[]");
        assert_eq!(readable("p.Main$$Lambda$14/0x00c0"), "Main$$Lambda$14");
        assert_eq!(readable("p.Main.class"), "Main.class");
    }
}
