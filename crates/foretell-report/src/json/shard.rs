//! Parts of the work: `--shard I/N`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of `count` equal parts of the queries; written `I/N`, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Number of the part, from 1 to `count`.
    pub index: u32,
    /// Number of parts.
    pub count: u32,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, count)| {
            Some(Shard { index: index.parse().ok()?, count: count.parse().ok()? })
        });
        parts
            .filter(|s| (1..=s.count).contains(&s.index))
            .ok_or_else(|| format!("`{text}` is not a part I/N with I from 1 to N"))
    }
}

impl TryFrom<String> for Shard {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_numbered_from_one() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
        for bad in ["", "1", "0/3", "4/3", "a/3", "1/0", "1/2/3", "-1/2"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
