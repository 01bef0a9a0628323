//! Source locations as SARIF locations.

use std::path::{Component, Path};

use foretell_trace::{EventId, Trace};
use serde_json::{Value, json};

use crate::location::{Location, stack};
use crate::source::Sources;
use crate::span;
use crate::witness::fold;

/// Base of relative paths.
pub(super) const ROOT: &str = "%SRCROOT%";

/// Conversion of source locations to SARIF.
pub(super) struct Locations<'a> {
    /// Stand-in for an unknown location: every result must have one.
    pub(super) trace_path: &'a str,
    pub(super) sources: &'a Sources,
}

impl Locations<'_> {
    /// Returns the location of an event, with its function.
    pub(super) fn of_event(&self, trace: &Trace, event: EventId) -> Value {
        let object = match (trace.variable(event), fold::lock(trace, event)) {
            (Some(var), _) => Some(trace.variable_name(var)),
            (None, Some(lock)) => Some(trace.lock_name(lock)),
            _ => None,
        };
        let source_location = trace.site(event).map(|site| trace.location(site));
        let mut location = self.of_location(source_location, object);
        if let Some(function) = stack(trace, event).into_iter().next().and_then(|f| f.function) {
            location["logicalLocations"] =
                json!([{"fullyQualifiedName": function, "kind": "function"}]);
        }
        location
    }

    /// Adds the text of the line and the lines around it, where the source is at hand.
    pub(super) fn with_context(&self, mut location: Value, source_location: Option<&str>) -> Value {
        let Some((source, line)) =
            source_location.and_then(|source_location| self.sources.at(source_location))
        else {
            return location;
        };
        let Some(text) = source.line(line) else { return location };
        let (first, last) = (line.saturating_sub(2).max(1), line.saturating_add(2));
        let lines: Vec<&str> = (first..=last).map_while(|n| source.line(n)).collect();
        let last = first + lines.len() as u32 - 1;
        let physical = &mut location["physicalLocation"];
        let region = &physical["region"];
        let column = |name: &str| region[name].as_u64().unwrap_or(1) as usize - 1;
        let (start, end) = (column("startColumn"), column("endColumn"));
        let piece: String = text.chars().skip(start).take(end - start).collect();
        physical["region"]["snippet"] = json!({"text": piece});
        physical["contextRegion"] = json!({
            "startLine": first, "endLine": last, "snippet": {"text": lines.join("\n")},
        });
        location
    }

    /// A source location; the columns are those of `object`, where the source is at hand.
    pub(super) fn of_location(&self, text: Option<&str>, object: Option<&str>) -> Value {
        let Some(source_location) = text.and_then(Location::parse) else {
            let mut location = physical(&uri(Path::new(self.trace_path)), 1, 1, 2);
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                location["logicalLocations"] = json!([{"fullyQualifiedName": text}]);
            }
            return location;
        };
        match self.sources.find(source_location.file) {
            Some(source) => {
                let line = source.line(source_location.line).unwrap_or_default();
                let range = span::of(line, object);
                // A region is at least one character long.
                let (start, end) = (range.start + 1, range.end.max(range.start + 1) + 1);
                physical(&uri(&source.path), source_location.line, start, end)
            }
            None => physical(&uri(Path::new(source_location.file)), source_location.line, 1, 2),
        }
    }
}

fn physical(artifact: &Value, line: u32, start: usize, end: usize) -> Value {
    json!({"physicalLocation": {
        "artifactLocation": artifact,
        "region": {
            "startLine": line, "startColumn": start, "endLine": line, "endColumn": end,
        },
    }})
}

/// A path as a URI: relative to the root of the source if it is relative.
fn uri(path: &Path) -> Value {
    let mut parts: Vec<String> = Vec::new();
    let mut absolute = false;
    for component in path.components() {
        match component {
            Component::RootDir | Component::Prefix(_) => absolute = true,
            Component::CurDir => {}
            Component::ParentDir if !absolute && parts.last().is_some_and(|p| p != "..") => {
                parts.pop();
            }
            Component::ParentDir => parts.push("..".to_owned()),
            Component::Normal(name) => parts.push(encoded(&name.to_string_lossy())),
        }
    }
    let path = parts.join("/");
    match absolute {
        true => json!({"uri": format!("file:///{path}")}),
        false => json!({"uri": path, "uriBaseId": ROOT}),
    }
}

/// Percent-encoded, but for what a path may hold.
fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'+' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        let text = |path: &str| uri(Path::new(path))["uri"].as_str().unwrap().to_owned();
        assert_eq!(text("src/a b.c"), "src/a%20b.c");
        assert_eq!(text("./src/../x/ü.c"), "x/%C3%BC.c");
        assert_eq!(text("../x.c"), "../x.c");
        assert_eq!(text("/tmp/x.c"), "file:///tmp/x.c");
        assert_eq!(uri(Path::new("x.c"))["uriBaseId"], ROOT);
        assert!(uri(Path::new("/x.c")).get("uriBaseId").is_none());
    }
}
