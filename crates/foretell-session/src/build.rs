//! Building the program that a check runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use foretell_build::{Language, compile};

use crate::Error;

/// The header with the markers, for programs that include it.
const HEADER: &str = include_str!("../../../include/foretell.h");

/// Name endings of C++ sources.
const CPP: [&str; 6] = ["cc", "cpp", "cxx", "C", "c++", "cp"];

/// Program to build, from its sources.
#[derive(Clone, Default, Debug)]
pub struct Program {
    /// C or C++ sources, objects and libraries; Java sources and jars; or one jar.
    pub sources: Vec<PathBuf>,
    /// Compiler to instrument with: gcc, clang, or the path of one of these. `None` is gcc, or a
    /// clang that can do it for a symbolic recording. Java is always compiled with `javac`.
    pub compiler: Option<String>,
    /// Further options for the compiler.
    pub flags: Vec<OsString>,
    /// Whether to build for a symbolic recording (C only).
    pub symbolic: bool,
}

/// Kind of a program, told by the names of its sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramKind {
    /// C.
    C,
    /// C++: at least one of the sources is.
    Cpp,
    /// Java sources; the first has the main class.
    Java,
    /// A jar that names its main class.
    Jar,
}

/// Commands that compile and run a Java program.
#[derive(Clone, Debug)]
pub struct JavaCommands {
    /// The compiler with its arguments; `None` for a jar.
    pub compile: Option<Vec<OsString>>,
    /// The virtual machine, with assertions on.
    pub run: Vec<OsString>,
}

impl Program {
    /// Returns the kind of the program.
    pub fn kind(&self) -> ProgramKind {
        let ends = |path: &Path, with: &str| path.extension().is_some_and(|e| e == with);
        let is_cpp = |path: &PathBuf| {
            path.extension().and_then(|e| e.to_str()).is_some_and(|e| CPP.contains(&e))
        };
        match &self.sources[..] {
            [jar] if ends(jar, "jar") => ProgramKind::Jar,
            [first, ..] if ends(first, "java") => ProgramKind::Java,
            sources if sources.iter().any(is_cpp) => ProgramKind::Cpp,
            _ => ProgramKind::C,
        }
    }

    /// Builds the program in `directory` and returns the command that runs it.
    ///
    /// C and C++ are compiled unoptimised unless `flags` say otherwise, Java runs with its
    /// assertions on. The compiler writes its messages to standard error; a warning of Foretell
    /// itself goes to `warn`.
    ///
    /// # Errors
    /// If a source is missing, the compiler cannot be started, or the compiler refuses the
    /// program.
    pub fn build(&self, directory: &Path, warn: impl FnOnce(&str)) -> Result<Vec<OsString>, Error> {
        let kind = self.kind();
        if self.symbolic && matches!(kind, ProgramKind::Java | ProgramKind::Jar) {
            return Err(Error::Unsupported(
                "--symbolic is for C programs; Java is recorded without it".to_owned(),
            ));
        }
        for source in &self.sources {
            std::fs::metadata(source).map_err(Error::file(source))?;
        }
        match kind {
            ProgramKind::C => self.compile(Language::C, directory, warn),
            ProgramKind::Cpp => self.compile(Language::Cpp, directory, warn),
            ProgramKind::Java | ProgramKind::Jar => self.compile_java(directory),
        }
    }

    fn compile(
        &self,
        language: Language,
        directory: &Path,
        warn: impl FnOnce(&str),
    ) -> Result<Vec<OsString>, Error> {
        let header = directory.join("foretell.h");
        std::fs::write(&header, HEADER).map_err(Error::file(&header))?;
        let program = directory.join("program");
        let mut arguments: Vec<OsString> = Vec::new();
        if self.symbolic {
            arguments.push("--symbolic".into());
        }
        let default = (!self.symbolic).then_some("gcc");
        if let Some(name) = self.compiler.as_deref().or(default) {
            arguments.push(format!("--foretell-compiler={name}").into());
        }
        arguments.extend(["-O0", "-g", "-pthread", "-I"].map(OsString::from));
        arguments.push(directory.into());
        arguments.extend(self.flags.iter().cloned());
        arguments.extend(self.sources.iter().map(|s| s.clone().into_os_string()));
        arguments.extend(["-lm".into(), "-o".into(), program.clone().into()]);
        let status = compile(language, &arguments, warn)?;
        if !status.success() {
            return Err(self.refused());
        }
        Ok(vec![program.into_os_string()])
    }

    fn compile_java(&self, directory: &Path) -> Result<Vec<OsString>, Error> {
        let failed = |message: String| Error::Java { source_file: self.first_source(), message };
        let JavaCommands { compile, run } = self.java_commands(directory)?;
        if let Some(compile) = compile {
            let mut javac = Command::new("javac");
            let status = foretell_build::status(javac.args(&compile[1..]))
                .map_err(|error| failed(format!("cannot run javac: {error}; install a JDK")))?;
            if !status.success() {
                return Err(self.refused());
            }
        }
        Ok(run)
    }

    /// Returns the commands that compile a Java program into `directory` and run it.
    ///
    /// # Errors
    /// If the first source cannot be read, or a path is not possible in a class path.
    pub fn java_commands(&self, directory: &Path) -> Result<JavaCommands, Error> {
        let failed = |message: String| Error::Java { source_file: self.first_source(), message };
        let mut run: Vec<OsString> = ["java", "-ea"].map(OsString::from).into();
        if self.kind() == ProgramKind::Jar {
            run.push("-jar".into());
            run.extend(self.sources.iter().map(|jar| jar.clone().into_os_string()));
            return Ok(JavaCommands { compile: None, run });
        }
        let classes = directory.join("classes");
        // Libraries may be given beside the sources.
        let (sources, jars): (Vec<&PathBuf>, Vec<&PathBuf>) =
            self.sources.iter().partition(|path| path.extension().is_some_and(|e| e == "java"));
        let class_path = std::env::join_paths(jars.into_iter().chain([&classes]))
            .map_err(|error| failed(error.to_string()))?;
        let mut compile: Vec<OsString> = ["javac", "-g", "-d"].map(OsString::from).into();
        compile.extend([classes.into(), "-cp".into(), class_path.clone()]);
        compile.extend(self.flags.iter().cloned());
        compile.extend(sources.into_iter().map(|source| source.clone().into_os_string()));
        run.extend(["-cp".into(), class_path, main_class(&self.first_source())?.into()]);
        Ok(JavaCommands { compile: Some(compile), run })
    }

    fn first_source(&self) -> PathBuf {
        self.sources.first().cloned().unwrap_or_default()
    }

    fn refused(&self) -> Error {
        Error::Compiler { source_file: self.first_source() }
    }
}

/// Returns the main class of a source: that of the file's name, in the source's package.
fn main_class(source: &Path) -> Result<String, Error> {
    let text = std::fs::read_to_string(source).map_err(Error::file(source))?;
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
    fn kind_is_told_by_names() {
        let kind = |names: &[&str]| {
            let sources = names.iter().map(PathBuf::from).collect();
            Program { sources, ..Program::default() }.kind()
        };
        assert_eq!(kind(&["A.java", "B.java"]), ProgramKind::Java);
        assert_eq!(kind(&["app.jar"]), ProgramKind::Jar);
        assert_eq!(kind(&["a.c"]), ProgramKind::C);
        assert_eq!(kind(&["a.c", "b.cpp"]), ProgramKind::Cpp);
    }

    #[test]
    fn main_class_is_in_its_package() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = directory.path().join("Main.java");
        std::fs::write(&source, "// x\npackage a.b;\nclass Main {}\n").expect("it can be written");
        assert_eq!(main_class(&source).expect("it can be read"), "a.b.Main");
    }
}
