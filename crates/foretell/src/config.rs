//! `foretell.toml`: default options.
//!
//! The file is searched for in the working directory and its ancestors. A table has the name of a
//! command, a key the name of one of its long options; a key outside of every table is for every
//! command that has the option. Values become arguments in front of the typed ones, so a file can
//! express exactly what a command line can, and is checked the same way. A typed option replaces
//! the one of the file. Paths are relative to the file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command, ValueHint};
use toml::Value;

use crate::failure::Failure;

/// The name of the file.
const NAME: &str = "foretell.toml";

/// Returns the arguments with those that the file adds. `command` describes the whole command line.
pub(crate) fn with_file(
    command: &Command,
    arguments: Vec<OsString>,
) -> Result<Vec<OsString>, Failure> {
    let Some(typed) = Typed::new(command, &arguments) else { return Ok(arguments) };
    let Some(path) = typed.file()? else { return Ok(arguments) };
    let text = std::fs::read_to_string(&path).map_err(Failure::file(&path))?;
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        Failure::Input(format!("{}:{line}: {}", path.display(), error.message()))
    })?;
    let file = File { path: &path, command };
    let (added, index) = (file.arguments(&table, &typed)?, typed.index);
    let mut all = arguments;
    let rest = all.split_off(index + 1);
    all.extend(added);
    all.extend(rest);
    Ok(all)
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

    /// Returns the file to read, if there is one.
    fn file(&self) -> Result<Option<PathBuf>, Failure> {
        if self.words.contains(&"--no-config") {
            return Ok(None);
        }
        let given = self.words.iter().enumerate().find_map(|(i, word)| match *word {
            "--config" => self.words.get(i + 1).copied(),
            word => word.strip_prefix("--config="),
        });
        if let Some(path) = given {
            return Ok(Some(PathBuf::from(path)));
        }
        let Ok(directory) = std::env::current_dir() else { return Ok(None) };
        Ok(directory.ancestors().map(|d| d.join(NAME)).find(|path| path.is_file()))
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

struct File<'a> {
    path: &'a Path,
    command: &'a Command,
}

impl File<'_> {
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
        let is_path = matches!(
            argument.get_value_hint(),
            ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath
        );
        let mut word = OsString::from(format!("--{long}="));
        match self.path.parent().filter(|_| is_path && text != "-") {
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
