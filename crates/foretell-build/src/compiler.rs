//! Choice of the compiler, and differences between gcc and clang.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

/// Language of a compiler driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// `foretell cc`.
    C,
    /// `foretell c++`.
    Cpp,
}

/// Returns the compiler to call, and the arguments for it.
pub(crate) fn compiler(language: Language, arguments: &[OsString]) -> (OsString, Vec<OsString>) {
    let (chosen, rest) = choice(language, arguments);
    let default = if language == Language::C { "gcc" } else { "g++" };
    (chosen.unwrap_or_else(|| default.into()), rest)
}

/// Returns the compiler that the user has chosen, by an argument or by an environment variable, and
/// the arguments without that choice.
pub(crate) fn choice(
    language: Language,
    arguments: &[OsString],
) -> (Option<OsString>, Vec<OsString>) {
    const CHOICE: &str = "--foretell-compiler=";
    let (name, default, clang) = match language {
        Language::C => ("FORETELL_CC", "gcc", "clang"),
        Language::Cpp => ("FORETELL_CXX", "g++", "clang++"),
    };
    let mut chosen = std::env::var_os(name).filter(|v| !v.is_empty());
    let mut rest = Vec::new();
    for word in arguments {
        match word.to_str().and_then(|w| w.strip_prefix(CHOICE)) {
            Some("clang") => chosen = Some(clang.into()),
            Some("gcc") => chosen = Some(default.into()),
            Some(other) => chosen = Some(for_language(other, language).into()),
            None => rest.push(word.clone()),
        }
    }
    (chosen, rest)
}

/// Returns the compiler of the same family for a language: `clang++-19` for `clang-19` and C++.
fn for_language(name: &str, language: Language) -> String {
    let (directory, file) =
        name.rsplit_once('/').map_or(("", name), |(d, f)| (&name[..d.len() + 1], f));
    if language == Language::C || file.contains("++") {
        return name.to_owned();
    }
    for (c, cpp) in [("clang", "clang++"), ("gcc", "g++")] {
        if let Some(at) = file.find(c) {
            return format!("{directory}{}{cpp}{}", &file[..at], &file[at + c.len()..]);
        }
    }
    name.to_owned()
}

pub(crate) fn is_clang(compiler: &OsStr) -> bool {
    Path::new(compiler).file_name().is_some_and(|n| n.to_string_lossy().contains("clang"))
}

/// Returns the arguments that make a compiler give volatile accesses hooks of their own.
pub(crate) fn distinguish_volatile(clang: bool) -> [&'static str; 2] {
    if clang {
        ["-mllvm", "-tsan-distinguish-volatile=1"]
    } else {
        ["--param", "tsan-distinguish-volatile=1"]
    }
}

/// Whether a compiler can give volatile accesses hooks of their own: gcc and clang from version 11
/// on.
pub(crate) fn has_volatile_hooks(compiler: &OsStr) -> bool {
    let output = Command::new(compiler).arg("-dumpversion").output();
    output.is_ok_and(|o| major(&String::from_utf8_lossy(&o.stdout)).is_some_and(|n| n >= 11))
}

fn major(version: &str) -> Option<u32> {
    version.trim().split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiler_versions_are_parsed() {
        assert_eq!(["12\n", "14.0.6", "", "x.1"].map(major), [Some(12), Some(14), None, None]);
        assert!(!has_volatile_hooks(OsStr::new("/nonexistent/gcc")));
    }

    #[test]
    fn compiler_can_be_chosen() {
        let words = ["-c".into(), "--foretell-compiler=clang".into()];
        let (name, rest) = compiler(Language::Cpp, &words);
        assert_eq!((name.to_str(), rest.len()), (Some("clang++"), 1));
        let named = |name| for_language(name, Language::Cpp);
        assert_eq!(
            (named("clang-19"), named("/a/gcc-12")),
            ("clang++-19".into(), "/a/g++-12".into())
        );
        assert_eq!((named("clang++-16"), named("icx")), ("clang++-16".into(), "icx".into()));
        assert_eq!(for_language("clang-19", Language::C), "clang-19");
        assert!(is_clang(&name) && !is_clang(OsStr::new("/usr/bin/gcc")));
    }
}
