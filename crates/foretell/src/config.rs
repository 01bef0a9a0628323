//! `foretell.toml`: default options.
//!
//! The file is searched for in the working directory and its ancestors. A table has the name of a
//! command, a key the name of one of its long options; a key outside of every table is for every
//! command that has the option. Values become arguments in front of the typed ones, so a file can
//! express exactly what a command line can, and is checked the same way. A typed option replaces
//! the one of the file. Paths are relative to the file.
//!
//! A file that is found by the search comes with a directory, perhaps from a stranger. It is used
//! only if it belongs to the user, it is named on standard error, and it may not choose what is run
//! or written: such options are for the command line and for the file that `--config` names.

use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command, ValueHint};
use toml::Value;

use crate::failure::Failure;
use crate::input;
use crate::terminal::complain;

/// The name of the file.
const NAME: &str = "foretell.toml";

/// Arguments, and the file that some of them are from.
pub(crate) struct Configured {
    pub(crate) arguments: Vec<OsString>,
    /// The file, if it was found by the search and adds arguments.
    pub(crate) found: Option<PathBuf>,
}

/// Returns the arguments with those that the file adds. `command` describes the whole command line.
pub(crate) fn with_file(
    command: &Command,
    arguments: Vec<OsString>,
) -> Result<Configured, Failure> {
    let typed_only = |arguments| Ok(Configured { arguments, found: None });
    let Some(typed) = Typed::new(command, &arguments) else { return typed_only(arguments) };
    let Some((path, found)) = typed.file()? else { return typed_only(arguments) };
    if let (true, Some(why)) = (found, distrust(&path)) {
        complain(&format!("foretell: {}: not used: {why} (see --config)", path.display()));
        return typed_only(arguments);
    }
    let text = input::text(&path)?;
    let file = File { path: &path, command, found };
    let (added, index) = (file.read(&text, &typed)?, typed.index);
    let found = (found && !added.is_empty()).then(|| path.clone());
    let mut all = arguments;
    let rest = all.split_off(index + 1);
    all.extend(added);
    all.extend(rest);
    Ok(Configured { arguments: all, found })
}

/// Typed command line.
struct Typed<'a> {
    /// Index of the command's name among the arguments.
    index: usize,
    subcommand: &'a Command,
    /// The arguments before `--`.
    words: Vec<&'a str>,
}

impl<'a> Typed<'a> {
    fn new(command: &'a Command, arguments: &'a [OsString]) -> Option<Self> {
        let mut index = 1;
        // The options before the command's name that take a value.
        while let Some(word) = arguments.get(index).and_then(|a| a.to_str()) {
            match word {
                "--color" | "--config" => index += 2,
                _ if word.starts_with('-') => index += 1,
                _ => break,
            }
        }
        let name = arguments.get(index)?.to_str()?;
        let subcommand = command.find_subcommand(name)?;
        let words = arguments[1..].iter().take_while(|a| *a != "--").filter_map(|a| a.to_str());
        Some(Typed { index, subcommand, words: words.collect() })
    }

    /// Returns the file to read, if there is one, and whether it was found by the search.
    fn file(&self) -> Result<Option<(PathBuf, bool)>, Failure> {
        if self.words.contains(&"--no-config") {
            return Ok(None);
        }
        let given = self.words.iter().enumerate().find_map(|(i, word)| match *word {
            "--config" => self.words.get(i + 1).copied(),
            word => word.strip_prefix("--config="),
        });
        if let Some(path) = given {
            return Ok(Some((PathBuf::from(path), false)));
        }
        let Ok(directory) = std::env::current_dir() else { return Ok(None) };
        let mut files = directory.ancestors().map(|directory| directory.join(NAME));
        Ok(files.find(|path| path.is_file()).map(|path| (path, true)))
    }

    /// Whether an option was typed.
    fn has(&self, argument: &Arg) -> bool {
        let long = argument.get_long().map(|long| format!("--{long}"));
        self.words.iter().any(|word| {
            let name = word.split('=').next().unwrap_or(word);
            let short = argument.get_short().is_some_and(|short| {
                word.strip_prefix('-').is_some_and(|w| !w.starts_with('-') && w.starts_with(short))
            });
            long.as_deref() == Some(name) || short
        })
    }
}

/// Returns the reason not to use a file that was found, if there is one.
fn distrust(path: &Path) -> Option<&'static str> {
    // SAFETY: no arguments.
    let user = unsafe { libc::geteuid() };
    let is_trusted = |m: &Metadata| m.uid() == user || m.uid() == 0;
    let (Ok(link), Ok(file)) = (path.symlink_metadata(), path.metadata()) else {
        return Some("it cannot be examined");
    };
    if !is_trusted(&link) || !is_trusted(&file) {
        return Some("it belongs to another user");
    }
    (file.mode() & 0o002 != 0).then_some("every user can write to it")
}

/// Options that name a file to read; every other path may be one to write.
const INPUT_FILES: [&str; 3] = ["suppressions", "baseline", "source"];
/// Options that choose what is run.
const COMMANDS: [&str; 2] = ["compiler", "cflag"];

/// Whether an option has to be typed, or be in a file that the user names.
fn is_reserved(argument: &Arg) -> bool {
    let Some(name) = argument.get_long() else { return true };
    COMMANDS.contains(&name) || (is_path(argument) && !INPUT_FILES.contains(&name))
}

fn is_path(argument: &Arg) -> bool {
    let hint = argument.get_value_hint();
    matches!(hint, ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath)
}

struct File<'a> {
    path: &'a Path,
    command: &'a Command,
    /// Whether the file was found by the search.
    found: bool,
}

impl File<'_> {
    /// Returns the arguments that the file's text adds.
    fn read(&self, text: &str, typed: &Typed<'_>) -> Result<Vec<OsString>, Failure> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            Failure::Input(format!("{}:{line}: {}", self.path.display(), error.message()))
        })?;
        self.arguments(&table, typed)
    }

    fn arguments(&self, table: &toml::Table, typed: &Typed<'_>) -> Result<Vec<OsString>, Failure> {
        let mut added = Vec::new();
        for (key, value) in table {
            match value {
                Value::Table(options) => {
                    let Some(subcommand) = self.command.find_subcommand(key) else {
                        return Err(self.wrong(format!("there is no command `{key}`")));
                    };
                    for (option, value) in options {
                        let name = format!("{key}.{option}");
                        let Some(argument) = find(subcommand, option) else {
                            return Err(self.wrong(format!("`{name}`: {key} has no such option")));
                        };
                        let values = self.values(&name, argument, value)?;
                        if subcommand.get_name() == typed.subcommand.get_name()
                            && !typed.has(argument)
                        {
                            added.extend(values);
                        }
                    }
                }
                value => {
                    let known = self.command.get_subcommands().find_map(|c| find(c, key));
                    let Some(known) = known else {
                        return Err(self.wrong(format!("`{key}`: no command has such an option")));
                    };
                    let values = self.values(key, known, value)?;
                    let own = find(typed.subcommand, key).filter(|argument| !typed.has(argument));
                    // The command's own table takes precedence.
                    let table = table.get(typed.subcommand.get_name()).and_then(Value::as_table);
                    if own.is_some() && !table.is_some_and(|t| t.contains_key(key)) {
                        added.extend(values);
                    }
                }
            }
        }
        Ok(added)
    }

    /// Returns `--option=value` for each value.
    fn values(&self, name: &str, argument: &Arg, value: &Value) -> Result<Vec<OsString>, Failure> {
        if self.found && is_reserved(argument) {
            return Err(self.wrong(format!(
                "`{name}`: a file that is found may not choose what is run or written; type the \
                 option, or name the file with --config"
            )));
        }
        let long = argument.get_long().unwrap_or_default();
        let takes_value = !matches!(argument.get_action(), ArgAction::SetTrue);
        let many = matches!(argument.get_action(), ArgAction::Append);
        match value {
            Value::Boolean(true) if !takes_value => Ok(vec![format!("--{long}").into()]),
            Value::Boolean(false) if !takes_value => Ok(Vec::new()),
            Value::Array(values) if many => {
                let values = values.iter().map(|value| self.value(name, argument, value));
                values.collect()
            }
            value if takes_value => Ok(vec![self.value(name, argument, value)?]),
            _ => Err(self.wrong(format!("`{name}` must be true or false"))),
        }
    }

    fn value(&self, name: &str, argument: &Arg, value: &Value) -> Result<OsString, Failure> {
        let long = argument.get_long().unwrap_or_default();
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => {
                return Err(
                    self.wrong(format!("`{name}` must be a string, a number or a list of these"))
                );
            }
        };
        let mut word = OsString::from(format!("--{long}="));
        match self.path.parent().filter(|_| is_path(argument) && text != "-") {
            Some(directory) => word.push(directory.join(text)),
            None => word.push(text),
        }
        Ok(word)
    }

    fn wrong(&self, message: String) -> Failure {
        Failure::input(self.path, message)
    }
}

/// Returns the option of a command with this long name.
fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|argument| argument.get_long() == Some(name))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};
    use foretell_fuzz::{Mutator, corpus};

    use super::*;
    use crate::Arguments;

    const WORDS: &[&str] = &[
        "[predict]\n",
        "[check]\n",
        "[[check]]\n",
        "[record]\n",
        "= ",
        "[",
        "]",
        "\"",
        "\"\"\"",
        "true",
        "false",
        "{ a = 1 }",
        "inf",
        "nan",
        "1979-05-27",
        "\n",
        "#",
        "jobs = ",
        "timeout = ",
        "budget = ",
        "shard = ",
        "runs = ",
        "limit = ",
        "seed = ",
        "html = ",
        "compiler = ",
        "\\u001b",
        "analyses = ",
        "config = ",
        "color = ",
        "help = true\n",
        "version = true\n",
        "model = ",
        "max-decompressed = ",
        "only = ",
        "quantum = ",
    ];

    /// Every file gives arguments that can be parsed or refused, or a reason of one line. The
    /// variable FORETELL_FUZZ_INPUTS sets the number of inputs.
    #[test]
    fn damaged_files_are_used_or_refused() {
        let mut command = Arguments::command();
        command.build();
        let files: Vec<Vec<u8>> = corpus("config").into_iter().map(|(_, file)| file).collect();
        let mutator = Mutator::new(files.clone(), WORDS);
        let inputs = std::env::var("FORETELL_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok());
        let mutated = (0..inputs.unwrap_or(1000)).map(|input| mutator.input(0, input));
        let (mut used, mut refused) = (0, 0);
        for input in files.into_iter().chain(mutated) {
            let Ok(text) = std::str::from_utf8(&input) else { continue };
            for typed in [&["predict", "x"][..], &["check", "x.c"], &["record", "--", "x"]] {
                let words: Vec<OsString> = std::iter::once("foretell")
                    .chain(typed.iter().copied())
                    .map(Into::into)
                    .collect();
                let typed = Typed::new(&command, &words).expect("a command");
                for found in [true, false] {
                    let file = File { path: Path::new("f.toml"), command: &command, found };
                    match file.read(text, &typed) {
                        Ok(added) => {
                            let all = words.iter().take(2).chain(&added).chain(&words[2..]);
                            // Parsed, or refused by the parser.
                            let _ = Arguments::try_parse_from(all);
                            used += 1;
                        }
                        Err(failure) => {
                            assert!(!failure.to_string().contains('\n'), "{failure}");
                            refused += 1;
                        }
                    }
                }
            }
        }
        assert!(used > 0 && refused > 0);
    }
}
