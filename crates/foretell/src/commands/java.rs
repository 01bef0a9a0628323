//! `foretell check` for Java: what command runs the program that the sources, or a jar, are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// What a Java program is given as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Sources; the first has the main class.
    Sources,
    /// A jar that names its main class.
    Jar,
}

/// Whether these are a Java program: by their names.
pub(crate) fn of(sources: &[PathBuf]) -> Option<Kind> {
    let ends = |path: &PathBuf, with: &str| path.extension().is_some_and(|e| e == with);
    match sources {
        [jar] if ends(jar, "jar") => Some(Kind::Jar),
        [first, ..] if ends(first, "java") => Some(Kind::Sources),
        _ => None,
    }
}

/// The command that runs the program, with its assertions on; sources are compiled into the directory.
pub(crate) fn command(
    kind: Kind,
    sources: &[PathBuf],
    options: &[OsString],
    directory: &Path,
) -> Result<Vec<OsString>, Failure> {
    for source in sources {
        std::fs::metadata(source).map_err(Failure::file(source))?;
    }
    let mut command: Vec<OsString> = ["java", "-ea"].map(OsString::from).into();
    if kind == Kind::Jar {
        command.push("-jar".into());
        command.extend(sources.iter().map(|jar| jar.clone().into_os_string()));
        return Ok(command);
    }
    let first = &sources[0];
    let classes = directory.join("classes");
    // Libraries may be given beside the sources.
    let (sources, jars): (Vec<&PathBuf>, Vec<&PathBuf>) =
        sources.iter().partition(|path| path.extension().is_some_and(|e| e == "java"));
    let class_path = std::env::join_paths(jars.into_iter().chain([&classes]))
        .map_err(|e| Failure::input(first, e))?;
    let mut javac = Command::new("javac");
    javac.args(["-g", "-d"]).arg(&classes).arg("-cp").arg(&class_path);
    let status = javac.args(options).args(sources).status().map_err(|error| {
        Failure::input(first, format!("cannot run javac: {error}; install a JDK"))
    })?;
    if !status.success() {
        return Err(Failure::input(first, "the compiler refused it, see above"));
    }
    command.extend(["-cp".into(), class_path, main_class(first)?.into()]);
    Ok(command)
}

/// The main class of a source: that of its name, in its package.
fn main_class(source: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(source).map_err(Failure::file(source))?;
    let class = source.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let package = text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix("package ")?;
        Some(rest.split(';').next().unwrap_or(rest).trim().to_owned())
    });
    Ok(match package {
        Some(package) => format!("{package}.{class}"),
        None => class,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_java() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(of(&paths(&["A.java", "B.java"])), Some(Kind::Sources));
        assert_eq!(of(&paths(&["app.jar"])), Some(Kind::Jar));
        assert_eq!(of(&paths(&["a.c"])), None);
    }

    #[test]
    fn the_main_class_is_in_its_package() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = directory.path().join("Main.java");
        std::fs::write(&source, "// x\npackage a.b;\nclass Main {}\n").expect("it can be written");
        assert_eq!(main_class(&source).expect("it can be read"), "a.b.Main");
    }
}
