//! Tables of the classes, methods and source locations that the agent's log has as numbers.
//!
//! Each line has fields with tabs between them. Names have slashes, as in the virtual machine.
//!
//! | line | content |
//! |---|---|
//! | `C number name super source` | a class |
//! | `F class name access` | a field |
//! | `M number class name` | a method |
//! | `S number class ordinal method line owner field` | a source location |
//! | `N note` | a note for the user |

use std::path::Path;

use rustc_hash::FxHashMap;

use crate::Error;

const VOLATILE: u32 = 0x0040;
const FINAL: u32 = 0x0010;
/// Bit that the agent adds: the field holds a reference.
const REFERENCE: u32 = 1 << 24;

/// Kind of a field.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct FieldKind {
    pub(crate) volatile: bool,
    pub(crate) reference: bool,
    /// Whether the field is zero until recorded code writes it.
    pub(crate) has_default: bool,
}

/// A class.
#[derive(Clone, Default, Debug)]
pub(crate) struct Class {
    pub(crate) name: String,
    parent: String,
    source: String,
    /// Fields and their access flags.
    fields: FxHashMap<String, u32>,
}

/// A source location in a class.
#[derive(Clone, Default, Debug)]
pub(crate) struct Location {
    pub(crate) class: u32,
    pub(crate) ordinal: u64,
    line: u32,
    owner: String,
    field: String,
}

/// Tables by number; number 0 is none.
#[derive(Default, Debug)]
pub(crate) struct Tables {
    classes: Vec<Class>,
    by_name: FxHashMap<String, usize>,
    methods: Vec<String>,
    locations: Vec<Location>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
}

impl Tables {
    pub(crate) fn load(path: &Path) -> Result<Tables, Error> {
        let bytes = std::fs::read(path).map_err(Error::file(path))?;
        Ok(Tables::parse(&String::from_utf8_lossy(&bytes)))
    }

    /// Parses the lines, but for a last one that is cut off.
    pub(crate) fn parse(text: &str) -> Tables {
        let mut tables = Tables::default();
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let fields: Vec<String> = line.split('\t').map(unescaped).collect();
            let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
            // Invalid lines are ignored.
            let _ = tables.line(&fields);
        }
        tables
    }

    fn line(&mut self, fields: &[&str]) -> Option<()> {
        let number = |at: usize| fields.get(at)?.parse::<u32>().ok().filter(|&n| n < NUMBER_LIMIT);
        let text = |at: usize| fields.get(at).map(|s| (*s).to_owned());
        match *fields.first()? {
            "C" => {
                let at = number(1)? as usize;
                let class = Class {
                    name: text(2)?,
                    parent: text(3)?,
                    source: text(4)?,
                    fields: FxHashMap::default(),
                };
                self.by_name.insert(class.name.clone(), at);
                put(&mut self.classes, at, class);
            }
            "F" => {
                let access = number(3)?;
                self.classes.get_mut(number(1)? as usize)?.fields.insert(text(2)?, access);
            }
            "M" => put(&mut self.methods, number(1)? as usize, text(3)?),
            "S" => {
                let location = Location {
                    class: number(2)?,
                    ordinal: u64::from(number(3)?),
                    line: number(5)?,
                    owner: text(6)?,
                    field: text(7)?,
                };
                put(&mut self.locations, number(1)? as usize, location);
            }
            "N" => self.notes.extend(text(1)),
            _ => {}
        }
        Some(())
    }

    pub(crate) fn location(&self, site: u32) -> Option<&Location> {
        self.locations.get(site as usize).filter(|p| p.class != 0)
    }

    pub(crate) fn class(&self, number: u32) -> Option<&Class> {
        self.classes.get(number as usize)
    }

    /// Whether a class was rewritten.
    pub(crate) fn has(&self, class: &str) -> bool {
        self.by_name.contains_key(class)
    }

    /// Returns file and line of a location: `Main.java:12`.
    pub(crate) fn source_line(&self, site: u32) -> Option<String> {
        let location = self.location(site)?;
        Some(format!("{}:{}", self.class(location.class)?.source, location.line))
    }

    /// Returns class and line of a location as numbers; (0, 0) without one.
    pub(crate) fn line_key(&self, site: u32) -> (u32, u32) {
        self.location(site).map_or((0, 0), |location| (location.class, location.line))
    }

    /// Returns the name of a method without the package: `Account.transfer`.
    pub(crate) fn method(&self, number: u32) -> &str {
        let name = self.methods.get(number as usize).map_or("", String::as_str);
        // The last two names between dots.
        match name.rmatch_indices('.').nth(1) {
            Some((at, _)) => &name[at + 1..],
            None => name,
        }
    }

    /// Returns the class that declares the field accessed at a location, the field, and its kind.
    pub(crate) fn field(&self, site: u32) -> Option<(&str, &str, FieldKind)> {
        let location = self.location(site)?;
        Some(self.declared(&location.owner, &location.field))
    }

    /// Returns the class that declares a field which `owner` has or inherits, the field, and its
    /// kind.
    pub(crate) fn declared<'a>(
        &'a self,
        owner: &'a str,
        field: &'a str,
    ) -> (&'a str, &'a str, FieldKind) {
        let mut name = owner;
        for _ in 0..100 {
            let Some(class) = self.by_name.get(name).and_then(|&at| self.classes.get(at)) else {
                break;
            };
            if let Some(access) = class.fields.get(field) {
                let kind = FieldKind {
                    volatile: access & VOLATILE != 0,
                    reference: access & REFERENCE != 0,
                    // The constructor's writes of a final field have no events.
                    has_default: access & FINAL == 0,
                };
                return (&class.name, field, kind);
            }
            name = &class.parent;
        }
        (owner, field, FieldKind::default())
    }
}

/// Limit of the numbers in a table.
const NUMBER_LIMIT: u32 = 1 << 25;

fn put<T: Default>(list: &mut Vec<T>, at: usize, item: T) {
    if list.len() <= at {
        list.resize_with(at + 1, T::default);
    }
    if let Some(slot) = list.get_mut(at) {
        *slot = item;
    }
}

fn unescaped(field: &str) -> String {
    let mut text = String::new();
    let mut chars = field.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('t') => text.push('\t'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some(other) => text.push(other),
                None => {}
            },
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_belongs_to_the_class_that_declares_it() {
        let tables = Tables::parse(
            "C\t1\tp/Base\tjava/lang/Object\tBase.java\nF\t1\tx\t64\nC\t2\tp/Sub\tp/Base\tSub.java\n\
             M\t1\t2\tp.Sub.run\nS\t1\t2\t0\t1\t12\tp/Sub\tx\nN\tq was left alone\nS\t2\t2\t1\t1",
        );
        let kind = FieldKind { volatile: true, reference: false, has_default: true };
        assert_eq!(tables.field(1), Some(("p/Base", "x", kind)));
        assert_eq!(tables.source_line(1).as_deref(), Some("Sub.java:12"));
        assert_eq!(tables.method(1), "Sub.run");
        assert!(tables.location(2).is_none() && tables.location(0).is_none());
        assert_eq!(tables.notes, ["q was left alone"]);
    }
}
