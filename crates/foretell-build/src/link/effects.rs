//! Effects of a function that is modelled by the table `hidden/functions.txt`.
//!
//! A modelled function has up to four effects, which the runtime records when it is called
//! (`foretell-rt/src/call_effects.rs`). An effect is a word of the stub's descriptor:
//!
//! | bits | content |
//! |---|---|
//! | 0 to 3 | mode |
//! | 4 to 6 | argument; 6 and 7 stand for `stderr` and `stdout` where a stream is expected |
//! | 8 to 11 | option |
//! | 16 to 31 | number |
//!
//! | text | mode | option | number |
//! |---|---|---|---|
//! | `reads N LENGTH`, `writes N LENGTH`, `changes N LENGTH` | 1, 2, 3 | kind of the length | bytes or argument |
//! | `prints N`, `prints-list N`, then `into`, `into limit` | 4 | bits: 1 list, 2 into, 4 limit | |
//! | `reads state S`, `writes state S`, `changes state S` | 5 | 1, 2, 3 | state |
//! | `sends state S`, `receives state S`, `orders state S` | 6 | 1, 2, 3 | state |
//! | `sends file N`, `receives file N`, `seeks file N`, `gets file N` | 7 | 1, 2, 3, 4 | |
//! | `sends descriptor N`, `looks descriptor N` | 8 | 1, 2 | |
//! | `looks path N`, `changes path N`, `lists path N`, `adds path N`, then `at` | 9 | 1, 2, 3, 4; 8: at | |
//! | `opens path N flags`, `opens path N mode`, `opens path N openmode`, then `at` | 10 | 1, 2, 3; 8: at | |
//! | `opens string N openmode`: the path is in a `std::string` | 10 | 3 | 1 |
//! | `lists directory N` | 11 | | |
//! | `sets static B` | 12 | | static buffer |
//! | `sets N LENGTH` | 13 | kind of the length | bytes or argument |
//!
//! | length | kind | number |
//! |---|---|---|
//! | a number of bytes | 0 | bytes |
//! | `argument N` | 1 | argument |
//! | `number`: the text of a number | 2 | |
//! | `text`: up to the zero byte | 3 | |
//! | `items N`: product of the arguments N and N + 1 | 4 | argument |

/// States of the C library, by number; `foretell-rt/src/library_state.rs` has the same order.
const STATES: [&str; 12] = [
    "environment",
    "timezone",
    "random",
    "strtok",
    "drand48",
    "locale",
    "passwd",
    "group",
    "hosts",
    "hsearch",
    "getopt",
    "terminal",
];

/// Static buffers of the C library, by number.
const BUFFERS: [&str; 2] = ["tm", "date"];

/// Effect of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Effect {
    mode: u8,
    argument: u8,
    option: u8,
    number: u16,
}

impl Effect {
    /// Returns the word of the descriptor.
    pub(super) fn word(self) -> u32 {
        u32::from(self.mode)
            | u32::from(self.argument) << 4
            | u32::from(self.option) << 8
            | u32::from(self.number) << 16
    }

    /// Reads an effect; `None` if it is not well-formed.
    pub(super) fn parse(text: &str) -> Option<Effect> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let effect = |mode, argument, option, number| Effect { mode, argument, option, number };
        let plain = |word: &str| position(&["reads", "writes", "changes"], word);
        Some(match *words.as_slice() {
            [verb, "state", name] => {
                let state = position(&STATES, name)? - 1;
                match plain(verb) {
                    Some(access) => effect(5, 0, access, state.into()),
                    None => {
                        let order = position(&["sends", "receives", "orders"], verb)?;
                        effect(6, 0, order, state.into())
                    }
                }
            }
            [verb, "file", file] => {
                let way = position(&["sends", "receives", "seeks", "gets"], verb)?;
                effect(7, stream(file)?, way, 0)
            }
            [verb, "descriptor", n] => {
                effect(8, argument(n)?, position(&["sends", "looks"], verb)?, 0)
            }
            ["opens", "path", n, how, ref at @ ..] => {
                let how = position(&["flags", "mode", "openmode"], how)?;
                effect(10, argument(n)?, how | relative(at)?, 0)
            }
            ["opens", "string", n, "openmode"] => effect(10, argument(n)?, 3, 1),
            ["lists", "directory", n] => effect(11, argument(n)?, 0, 0),
            [verb, "path", n, ref at @ ..] => {
                let way = position(&["looks", "changes", "lists", "adds"], verb)?;
                effect(9, argument(n)?, way | relative(at)?, 0)
            }
            ["sets", "static", name] => effect(12, 0, 0, (position(&BUFFERS, name)? - 1).into()),
            [verb @ ("prints" | "prints-list"), n, ref target @ ..] => {
                let target = match *target {
                    [] => 0,
                    ["into"] => 2,
                    ["into", "limit"] => 2 | 4,
                    _ => return None,
                };
                effect(4, argument(n)?, target | u8::from(verb == "prints-list"), 0)
            }
            [verb, n, ref length @ ..] => {
                let (kind, number) = match *length {
                    ["number"] => (2, 0),
                    ["text"] => (3, 0),
                    ["argument", n] => (1, argument(n)?.into()),
                    ["items", n] => (4, argument(n)?.into()),
                    [bytes] => (0, bytes.parse().ok()?),
                    _ => return None,
                };
                let mode = if verb == "sets" { 13 } else { plain(verb)? };
                effect(mode, argument(n)?, kind, number)
            }
            _ => return None,
        })
    }
}

/// Returns the place of a word in a list, from 1.
fn position(list: &[&str], word: &str) -> Option<u8> {
    list.iter().position(|other| *other == word).map(|at| at as u8 + 1)
}

/// Returns the number of an argument.
fn argument(word: &str) -> Option<u8> {
    word.parse().ok().filter(|n| *n < 6)
}

/// Returns the argument that is a stream, or the number of a standard one.
fn stream(word: &str) -> Option<u8> {
    match word {
        "stderr" => Some(6),
        "stdout" => Some(7),
        _ => argument(word),
    }
}

/// Returns the option of a path that is relative to the descriptor before it.
fn relative(words: &[&str]) -> Option<u8> {
    match words {
        [] => Some(0),
        ["at"] => Some(8),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_has_mode_argument_option_and_number() {
        let word = |text: &str| Effect::parse(text).map(Effect::word);
        assert_eq!(word("reads 0 number"), Some(0x201));
        assert_eq!(word("writes 1 8"), Some(0x8_0012));
        assert_eq!(word("reads 0 argument 1"), Some(0x1_0101));
        assert_eq!(word("reads 0 items 1"), Some(0x1_0401));
        assert_eq!(word("prints-list 2 into limit"), Some(0x0724));
        assert_eq!(word("changes state strtok"), Some(0x3_0305));
        assert_eq!(word("orders state random"), Some(0x2_0306));
        assert_eq!(word("sends file stdout"), Some(0x0177));
        assert_eq!(word("opens path 1 flags at"), Some(0x091a));
        assert_eq!(word("changes path 0"), Some(0x0209));
        assert_eq!(word("sets static date"), Some(0x1_000c));
        for wrong in ["reads", "reads 6 8", "reads state nothing", "looks path 0 near", "prints"] {
            assert_eq!(word(wrong), None, "{wrong}");
        }
    }
}
