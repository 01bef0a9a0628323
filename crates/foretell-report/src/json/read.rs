//! Reading a findings file. Nothing in it is trusted.
//!
//! The file is taken apart field by field and finding by finding, so that an error can name the
//! finding it is in; positions in messages are those in the file.

use std::collections::{BTreeMap, HashSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{Finding, Findings, SCHEMA};

/// Violation of the format of a findings file. The message is one line, without the file's name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FindingsError {
    /// The file is not JSON, or not an object.
    #[error("not a findings file: {0}")]
    Json(String),
    /// A findings file of another version, or some other JSON file.
    #[error("not a {SCHEMA} file: the schema is {0}")]
    Schema(String),
    /// A mandatory field is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A field has a value of the wrong type.
    #[error("{field}: {message}")]
    Field {
        /// Name of the field.
        field: &'static str,
        /// Violation.
        message: String,
    },
    /// A finding is not valid.
    #[error("finding {finding}: {message}")]
    Finding {
        /// Identifier of the finding, or its position in the list if it has none.
        finding: String,
        /// Violation.
        message: String,
    },
}

pub(super) fn parse(text: &str) -> Result<Findings, FindingsError> {
    let mut fields: BTreeMap<String, &RawValue> =
        serde_json::from_str(text).map_err(|e| FindingsError::Json(e.to_string()))?;
    let file = File { text };
    let schema = fields.remove("schema").ok_or(FindingsError::Missing("schema"))?;
    if serde_json::from_str::<String>(schema.get()).ok().as_deref() != Some(SCHEMA) {
        return Err(FindingsError::Schema(clipped(schema.get())));
    }
    let shard = match fields.remove("shard") {
        Some(raw) => Some(file.field("shard", raw)?),
        None => None,
    };
    Ok(Findings {
        schema: SCHEMA.to_owned(),
        trace: file.required(&mut fields, "trace")?,
        shard,
        findings: file.findings(&mut fields)?,
        summary: file.required(&mut fields, "summary")?,
        undecided: file.required(&mut fields, "undecided")?,
        extra: fields
            .into_iter()
            .map(|(name, raw)| Ok((name, file.field("an unknown field", raw)?)))
            .collect::<Result<_, _>>()?,
    })
}

pub(super) fn parse_all(text: &str) -> Result<Vec<Findings>, FindingsError> {
    let pieces = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let files = pieces
        .map(|piece| parse(piece.map_err(|e| FindingsError::Json(e.to_string()))?.get()))
        .collect::<Result<Vec<_>, _>>()?;
    if files.is_empty() {
        return Err(FindingsError::Json("it is empty".to_owned()));
    }
    Ok(files)
}

/// The text that every raw value is a piece of.
struct File<'a> {
    text: &'a str,
}

impl<'a> File<'a> {
    fn required<T: DeserializeOwned>(
        &self,
        fields: &mut BTreeMap<String, &'a RawValue>,
        name: &'static str,
    ) -> Result<T, FindingsError> {
        let raw = fields.remove(name).ok_or(FindingsError::Missing(name))?;
        self.field(name, raw)
    }

    fn field<T: DeserializeOwned>(
        &self,
        name: &'static str,
        raw: &RawValue,
    ) -> Result<T, FindingsError> {
        self.value(raw).map_err(|message| FindingsError::Field { field: name, message })
    }

    fn findings(
        &self,
        fields: &mut BTreeMap<String, &'a RawValue>,
    ) -> Result<Vec<Finding>, FindingsError> {
        const NAME: &str = "findings";
        let list = fields.remove(NAME).ok_or(FindingsError::Missing(NAME))?;
        let list: Vec<&RawValue> = serde_json::from_str(list.get()).map_err(|e| {
            FindingsError::Field { field: NAME, message: self.message(list.get(), &e) }
        })?;
        let findings = list
            .into_iter()
            .enumerate()
            .map(|(i, raw)| self.finding(i, raw))
            .collect::<Result<Vec<_>, _>>()?;
        let mut seen = HashSet::new();
        match findings.iter().find(|f| !seen.insert(&f.id)) {
            None => Ok(findings),
            Some(twice) => Err(FindingsError::Finding {
                finding: clipped(&twice.id),
                message: "two findings have this id".to_owned(),
            }),
        }
    }

    fn finding(&self, position: usize, raw: &RawValue) -> Result<Finding, FindingsError> {
        #[derive(Deserialize)]
        struct Id {
            id: String,
        }

        let wrong = |message: String| FindingsError::Finding {
            finding: match serde_json::from_str::<Id>(raw.get()) {
                Ok(Id { id }) if !id.is_empty() => clipped(&id),
                _ => format!("number {} in the list", position + 1),
            },
            message,
        };
        let mut finding = self.value::<Finding>(raw).map_err(wrong)?;
        finding.derive_confirmation();
        // Identifiers are printed, and typed by people.
        if finding.id.is_empty() || finding.id.contains(|c: char| c.is_control() || c == ' ') {
            return Err(wrong("`id` must be a word".to_owned()));
        }
        Ok(finding)
    }

    fn value<T: DeserializeOwned>(&self, raw: &RawValue) -> Result<T, String> {
        serde_json::from_str(raw.get()).map_err(|e| self.message(raw.get(), &e))
    }

    /// The message of an error inside `piece`, its position moved to where it is in the file.
    fn message(&self, piece: &str, error: &serde_json::Error) -> String {
        let text = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let Some(message) = text.strip_suffix(&position) else { return text };
        // `piece` is a part of `self.text`: the parser borrows.
        let start = (piece.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..start).unwrap_or_default();
        let lines_before = before.matches('\n').count();
        let column_before = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
        let line = lines_before + error.line();
        let column = error.column() + if error.line() == 1 { column_before } else { 0 };
        format!("{message} at line {line} column {column}")
    }
}

/// A piece of the file for a message: one line, not too long, nothing that a terminal obeys.
fn clipped(text: &str) -> String {
    let mut clipped: String = text
        .chars()
        .take(60)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if text.chars().nth(60).is_some() {
        clipped.push('…');
    }
    clipped
}
