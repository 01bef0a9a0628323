//! Builds one C or C++ program plainly and recorded, runs it and checks it.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::commands::{Twin, findings, finish, foretell, run, sources, succeed, text};

/// A program of the set.
pub(crate) struct Program {
    /// Path of the source, relative to this directory.
    pub(crate) source: &'static str,
    /// Options of the compiler, and words for further inputs: `clang`, `glib`, `hidden.o`,
    /// `hidden.a`, `hidden.so`, `loads hidden.so`.
    pub(crate) options: &'static [&'static str],
}

impl Program {
    /// Asserts that nothing is found and that recording changes neither output nor status.
    pub(crate) fn is_correct(&self) {
        let workshop = Workshop::new(self);
        let plain = workshop.plain();
        workshop.instrument(&[]);
        let said = |what: &str, output: &Output| {
            format!("{} {:?}: {what}\n{}", self.source, self.options, text(output))
        };
        assert_eq!(plain.status.code(), Some(0), "{}", said("the plain program fails", &plain));
        let recorded = workshop.record();
        assert_eq!(recorded.status.code(), Some(0), "{}", said("recorded", &recorded));
        assert_eq!(
            String::from_utf8_lossy(&recorded.stdout),
            String::from_utf8_lossy(&plain.stdout),
            "{}",
            said("recorded, its output differs from the plain program's", &recorded)
        );
        let checked = workshop.check();
        assert_eq!(checked.status.code(), Some(0), "{}", said("false alarm", &checked));
    }

    /// Asserts that no race is predicted, not even one that a replay does not confirm.
    pub(crate) fn has_no_predicted_race(&self) {
        let workshop = Workshop::new(self);
        workshop.instrument(&[]);
        let checked = workshop.check();
        let said = format!("{} {:?}\n{}", self.source, self.options, text(&checked));
        assert_eq!(checked.status.code(), Some(0), "{said}");
        let findings = findings(&workshop.path("findings.json"));
        assert!(findings.iter().all(|finding| finding["kind"] != "race"), "{said}");
    }

    /// Asserts that the twin has a confirmed race, and that all of its races are at lines of `file`.
    pub(crate) fn has_race_at(&self, file: &str) {
        let workshop = Workshop::new(self);
        workshop.instrument(&["-DBUG"]);
        let checked = workshop.check();
        let said = format!("{} {:?} -DBUG\n{}", self.source, self.options, text(&checked));
        assert_eq!(checked.status.code(), Some(1), "{said}");
        let findings = findings(&workshop.path("findings.json"));
        let races: Vec<_> = findings.iter().filter(|f| f["kind"] == "race").collect();
        assert!(races.iter().any(|race| race["confirmation"] == "confirmed"), "{said}");
        let shown = String::from_utf8_lossy(&checked.stdout);
        let lines: Vec<&str> = shown.lines().filter(|line| line.contains("--> ")).collect();
        assert!(!lines.is_empty() && lines.iter().all(|line| line.contains(file)), "{said}");
    }

    /// Asserts that the twin's bug is found, or not found for the known reason.
    pub(crate) fn has_twin(&self, twin: Twin) {
        let workshop = Workshop::new(self);
        workshop.instrument(&["-DBUG"]);
        let checked = workshop.check();
        let name = format!("{} {:?} -DBUG", self.source, self.options);
        twin.holds(&name, &checked, &workshop.path("findings.json"));
    }
}

/// A temporary directory with the builds of one program.
struct Workshop {
    directory: tempfile::TempDir,
    source: PathBuf,
    /// Options of the compiler.
    flags: Vec<String>,
    /// Objects and libraries that are not recorded.
    plain_inputs: Vec<PathBuf>,
    clang: bool,
    cpp: bool,
}

impl Workshop {
    fn new(program: &Program) -> Workshop {
        let here = sources();
        let mut workshop = Workshop {
            directory: tempfile::tempdir().expect("a directory"),
            source: here.join(program.source),
            flags: Vec::new(),
            plain_inputs: Vec::new(),
            clang: false,
            cpp: program.source.ends_with(".cpp"),
        };
        for &option in program.options {
            match option {
                "clang" => workshop.clang = true,
                "glib" => {
                    let asked = run("pkg-config", &["--cflags", "--libs", "glib-2.0"]);
                    assert!(asked.status.success(), "install libglib2.0-dev: {}", text(&asked));
                    let answer = String::from_utf8_lossy(&asked.stdout).into_owned();
                    workshop.flags.extend(answer.split_whitespace().map(str::to_owned));
                }
                "hidden.o" | "hidden.a" | "hidden.so" => {
                    let library = workshop.hidden(&here, option);
                    workshop.plain_inputs.push(library);
                }
                "loads hidden.so" => {
                    let library = workshop.hidden(&here, "hidden.so");
                    workshop.flags.push(format!("-DHIDDEN_LIBRARY=\"{}\"", library.display()));
                }
                flag => workshop.flags.push(flag.to_owned()),
            }
        }
        workshop
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Builds the code that is not recorded, with the plain compiler.
    fn hidden(&self, here: &Path, name: &str) -> PathBuf {
        let source = here.join("c/hidden.c").display().to_string();
        let output = self.path(name);
        let to = output.display().to_string();
        let object = self.path("part.o").display().to_string();
        match name {
            "hidden.so" => succeed("gcc", &["-O1", "-fPIC", "-shared", &source, "-o", &to]),
            "hidden.a" => {
                succeed("gcc", &["-O1", "-c", &source, "-o", &object]);
                succeed("ar", &["rcs", &to, &object]);
            }
            _ => succeed("gcc", &["-O1", "-c", &source, "-o", &to]),
        }
        output
    }

    /// Builds and runs the program without Foretell.
    fn plain(&self) -> Output {
        let compiler = match (self.clang, self.cpp) {
            (false, false) => "gcc",
            (false, true) => "g++",
            (true, false) => "clang",
            (true, true) => "clang++",
        };
        let source = self.source.display().to_string();
        let program = self.path("plain").display().to_string();
        let mut arguments = vec!["-pthread".to_owned(), source];
        arguments.extend(self.plain_inputs.iter().map(|i| i.display().to_string()));
        arguments.extend(self.flags.iter().cloned());
        arguments.extend(["-o".to_owned(), program.clone()]);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        succeed(compiler, &arguments);
        run(&program, &[])
    }

    /// Compiles the source for recording, with further options.
    fn instrument(&self, further: &[&str]) {
        let mut command = foretell();
        command.arg(if self.cpp { "c++" } else { "cc" });
        if self.clang {
            command.arg("--foretell-compiler=clang");
        }
        command.args(["-O0", "-g", "-c"]).args(&self.flags).args(further);
        command.arg(&self.source).arg("-o").arg(self.path("program.o"));
        let built = finish(&mut command);
        assert!(built.status.success(), "{}", text(&built));
    }

    /// Links the program for recording and records it.
    fn record(&self) -> Output {
        let mut command = foretell();
        command.arg(if self.cpp { "c++" } else { "cc" });
        if self.clang {
            command.arg("--foretell-compiler=clang");
        }
        command.arg("-pthread").arg(self.path("program.o")).args(&self.plain_inputs);
        command.args(&self.flags).arg("-o").arg(self.path("recorded"));
        let built = finish(&mut command);
        assert!(built.status.success(), "{}", text(&built));
        let mut command = foretell();
        command.arg("record").arg("-o").arg(self.path("run.ft")).arg("--");
        finish(command.arg(self.path("recorded")))
    }

    /// Runs `foretell check` on the compiled program.
    fn check(&self) -> Output {
        let mut command = foretell();
        command.args(["check", "--runs", "1", "--limit", "4", "--compiler"]);
        command.arg(if self.clang { "clang" } else { "gcc" });
        if self.cpp {
            command.arg("--cflag=-lstdc++");
        }
        command.args(self.flags.iter().map(|flag| format!("--cflag={flag}")));
        command.arg("--json").arg(self.path("findings.json"));
        finish(command.arg(self.path("program.o")).args(&self.plain_inputs))
    }
}
