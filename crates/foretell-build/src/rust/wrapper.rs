//! The wrapper between cargo and rustc (`RUSTC_WRAPPER`).
//!
//! Cargo names the target when it compiles for it, and names none when it compiles what runs on
//! the host: build scripts and procedural macros. Only the first are instrumented and use the
//! instrumented standard library. Flags of the user stay, because the wrapper adds its own at the
//! end. The settings come in environment variables, because cargo starts the wrapper.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::edited_crate::EditedCrate;
use crate::Error;
use crate::child::status;
use crate::instrument::RUST_LINK;

/// Variable with the directory of the instrumented standard library; empty while it is built.
const SYSROOT: &str = "FORETELL_RUST_SYSROOT";
/// Variable with the directory that has the runtime's shared library.
const RUNTIME: &str = "FORETELL_RUST_RUNTIME";
/// Variable with the compiler driver of C.
const DRIVER: &str = "FORETELL_RUST_DRIVER";
/// Variable with the directory of the target's artefacts.
const ARTEFACTS: &str = "FORETELL_RUST_ARTEFACTS";
/// Variable with the wrapper of the user.
const NEXT: &str = "FORETELL_RUST_WRAPPER";

/// Flags that instrument.
const INSTRUMENT: [&str; 5] = [
    "-Cpasses=forceattrs",
    "-Cpasses=tsan-module",
    "-Cpasses=tsan",
    "-Cllvm-args=-force-attribute=sanitize_thread",
    "-Cllvm-args=-tsan-instrument-read-before-write=1",
];

/// Crates of the standard library that are not instrumented: they unwind, make backtraces, or have
/// no state.
const PLAIN: [&str; 14] = [
    "addr2line",
    "adler2",
    "build_script_build",
    "compiler_builtins",
    "gimli",
    "libc",
    "memchr",
    "miniz_oxide",
    "object",
    "panic_abort",
    "panic_unwind",
    "rustc_demangle",
    "std_detect",
    "unwind",
];

/// Options of `-C` that do not fit a recording: programs keep their debug information, and the
/// instrumentation is not run again when crates are linked.
const DROPPED: [&str; 5] = ["debuginfo=", "strip=", "lto=", "lto", "linker-plugin-lto"];

/// Settings of the wrapper.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrapper {
    /// Directory of the instrumented standard library; `None` while it is built.
    pub sysroot: Option<PathBuf>,
    /// Directory with the runtime's shared library, which programs look for there.
    pub runtime: PathBuf,
    /// The compiler driver of C, which links programs.
    pub driver: PathBuf,
    /// Directory of what cargo builds for the target.
    pub artefacts: PathBuf,
    /// Wrapper of the user, which calls the compiler.
    pub next: Option<OsString>,
}

impl Wrapper {
    /// Makes cargo call `executable` with these settings in the place of rustc.
    pub fn set(&self, executable: &Path, cargo: &mut Command) {
        let sysroot = self.sysroot.as_deref().unwrap_or(Path::new(""));
        cargo
            .env("RUSTC_WRAPPER", executable)
            .env(SYSROOT, sysroot)
            .env(RUNTIME, &self.runtime)
            .env(DRIVER, &self.driver)
            .env(ARTEFACTS, &self.artefacts);
        match &self.next {
            Some(next) => cargo.env(NEXT, next),
            None => cargo.env_remove(NEXT),
        };
    }

    /// Returns the settings if this process was started as the wrapper: cargo gives the path of the
    /// compiler as first argument.
    pub fn of_environment(first_argument: &OsStr) -> Option<Wrapper> {
        let sysroot = PathBuf::from(std::env::var_os(SYSROOT)?);
        let runtime = PathBuf::from(std::env::var_os(RUNTIME)?);
        let name = Path::new(first_argument).file_name()?.to_string_lossy();
        let is_compiler = name.contains("rustc") || name.contains("clippy");
        is_compiler.then(|| Wrapper {
            sysroot: Some(sysroot).filter(|path| !path.as_os_str().is_empty()),
            runtime,
            driver: std::env::var_os(DRIVER).unwrap_or_default().into(),
            artefacts: std::env::var_os(ARTEFACTS).unwrap_or_default().into(),
            next: std::env::var_os(NEXT),
        })
    }

    /// Runs the compiler, the first of the arguments, with the others and those for recording.
    /// Replaces this process, unless there is more to print.
    ///
    /// # Errors
    /// If the compiler cannot be started.
    pub fn run(&self, arguments: &[OsString]) -> Result<u8, Error> {
        let edits = self.sysroot.is_some() && is_for_target(arguments);
        let directory = self.artefacts.with_file_name("edited");
        let edited = edits.then(|| EditedCrate::of(arguments, &directory)).flatten();
        let arguments = edited.as_ref().map_or(arguments, |edited| &edited.arguments);
        let words: Vec<OsString> =
            self.next.iter().cloned().chain(self.command(arguments)).collect();
        let (program, rest) = words.split_first().ok_or_else(|| {
            Error::Other("the compiler's wrapper was called without a compiler".to_owned())
        })?;
        let mut command = Command::new(program);
        command.args(rest);
        let failed = |source| Error::Start { program: program.to_string_lossy().into(), source };
        let asks_cfg = is_for_target(arguments) && asks(arguments).any(|what| what == "cfg");
        if edited.is_none() && (!asks_cfg || self.sysroot.is_none()) {
            return Err(failed(command.exec()));
        }
        let status = status(&mut command).map_err(failed)?;
        if let Some(edited) = edited {
            edited.compiled();
            return Ok(status.code().unwrap_or(1) as u8);
        }
        if status.success() {
            // Build scripts that ask find the sanitizer, as they would with the compiler's own
            // flag.
            println!("sanitize=\"thread\"");
        }
        Ok(crate::shell_status(status))
    }

    /// Returns the command to run in the place of this one.
    fn command(&self, arguments: &[OsString]) -> Vec<OsString> {
        if !is_for_target(arguments) || asks(arguments).next().is_some() {
            return arguments.to_vec();
        }
        let crate_name = value_of(arguments, "--crate-name").unwrap_or_default();
        let Some(sysroot) = &self.sysroot else {
            let plain = PLAIN.iter().any(|name| crate_name == *name);
            let added = INSTRUMENT.iter().filter(|_| !plain).map(OsString::from);
            let mut out: Vec<OsString> = arguments.iter().cloned().chain(added).collect();
            if crate_name == "panic_abort" {
                // The compiler wants it to be built for the strategy that it implements.
                out.push("-Cpanic=abort".into());
            }
            return out;
        };
        let mut out = without_dropped(arguments);
        out.push("--sysroot".into());
        out.push(sysroot.into());
        out.extend(INSTRUMENT.map(OsString::from));
        out.extend(["-Cdebuginfo=2", "-Cstrip=none"].map(OsString::from));
        if links(arguments) {
            let mut search = OsString::from("native=");
            search.push(&self.runtime);
            let mut rpath = OsString::from("-Clink-arg=-Wl,-rpath,");
            rpath.push(&self.runtime);
            out.extend(["-L".into(), search, "-ldylib=foretell_rt".into(), rpath]);
            // A linker of the user is kept.
            if !arguments.iter().any(|word| word.to_string_lossy().contains("linker=")) {
                let mut linker = OsString::from("-Clinker=");
                linker.push(&self.driver);
                out.extend([linker, format!("-Clink-arg={RUST_LINK}").into()]);
            }
        }
        out
    }
}

/// Whether this process compiles C for a build script whose crate is for the host: it is linked
/// into a program of the build, without the runtime.
pub(crate) fn compiles_for_host() -> bool {
    let artefacts = std::env::var_os(ARTEFACTS).filter(|path| !path.is_empty());
    let output = std::env::var_os("OUT_DIR").map(PathBuf::from);
    artefacts.zip(output).is_some_and(|(artefacts, output)| !output.starts_with(artefacts))
}

/// Whether code is compiled for the target, not for the host.
fn is_for_target(arguments: &[OsString]) -> bool {
    arguments.iter().any(|word| word == "--target" || starts(word, "--target="))
}

fn starts(word: &OsStr, start: &str) -> bool {
    word.as_encoded_bytes().starts_with(start.as_bytes())
}

/// The things that the compiler is asked to print.
fn asks(arguments: &[OsString]) -> impl Iterator<Item = &str> {
    let next = arguments.iter().skip(1).map(Some).chain([None]);
    arguments.iter().zip(next).filter_map(|(word, next)| match word.to_str()? {
        "--print" => next?.to_str(),
        word => word.strip_prefix("--print="),
    })
}

/// Returns the value of an option, its last one.
pub(super) fn value_of(arguments: &[OsString], option: &str) -> Option<OsString> {
    let at = arguments.iter().rposition(|word| word == option)?;
    arguments.get(at + 1).cloned()
}

/// Whether the compiler links a program or a shared library.
fn links(arguments: &[OsString]) -> bool {
    let is_linked = |kind: &str| matches!(kind, "bin" | "cdylib" | "dylib");
    let next = arguments.iter().skip(1);
    let mut kinds = arguments.iter().zip(next).filter(|(word, _)| *word == "--crate-type");
    arguments.iter().any(|word| word == "--test")
        || kinds.any(|(_, kind)| kind.to_str().is_some_and(|k| k.split(',').any(is_linked)))
}

/// Returns the arguments without the options that do not fit a recording.
fn without_dropped(arguments: &[OsString]) -> Vec<OsString> {
    let is_dropped = |option: &str| {
        DROPPED.iter().any(|d| if d.ends_with('=') { option.starts_with(d) } else { option == *d })
    };
    let mut out = Vec::new();
    let mut words = arguments.iter().peekable();
    while let Some(word) = words.next() {
        let text = word.to_str().unwrap_or_default();
        if text == "-g" || text.strip_prefix("-C").is_some_and(is_dropped) {
            continue;
        }
        if matches!(text, "-C" | "--codegen")
            && words.peek().and_then(|next| next.to_str()).is_some_and(is_dropped)
        {
            words.next();
            continue;
        }
        out.push(word.clone());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(sysroot: Option<&str>, line: &str) -> String {
        let wrapper = Wrapper {
            sysroot: sysroot.map(PathBuf::from),
            runtime: "/rt".into(),
            driver: "/cc".into(),
            artefacts: "/t".into(),
            next: None,
        };
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let command = wrapper.command(&words);
        command.iter().map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn code_for_the_host_stays_as_it_is() {
        for line in ["rustc --crate-name build_script_build --crate-type bin a.rs", "rustc -vV"] {
            assert_eq!(command(Some("/s"), line), line);
        }
        let cfg = "rustc - --crate-name ___ --print=file-names --print=cfg --target t";
        assert_eq!(command(Some("/s"), cfg), cfg);
    }

    #[test]
    fn code_for_the_target_is_instrumented() {
        let line = "rustc --crate-name a --crate-type lib a.rs -C debuginfo=0 -C lto -C opt-level=3 \
                    -Cstrip=symbols --target t -Ctarget-cpu=native";
        let got = command(Some("/s"), line);
        assert!(got.contains("--sysroot /s") && got.contains("-Cpasses=tsan "), "{got}");
        assert!(got.contains("-C opt-level=3") && got.contains("target-cpu=native"), "{got}");
        assert!(!got.contains("strip=symbols") && !got.contains(" lto"), "{got}");
        assert!(got.contains("-Cdebuginfo=2") && !got.contains("debuginfo=0"), "{got}");
        assert!(!got.contains("foretell_rt"), "{got}");
        let program = command(Some("/s"), "rustc --crate-type bin --target t a.rs");
        assert!(program.contains("-ldylib=foretell_rt -Clink-arg=-Wl,-rpath,/rt"), "{program}");
        assert!(command(Some("/s"), "rustc --test --target t a.rs").contains("foretell_rt"));
    }

    #[test]
    fn backtraces_of_the_standard_library_are_not_instrumented() {
        assert!(command(None, "rustc --crate-name std --target t").contains("tsan"));
        assert!(!command(None, "rustc --crate-name gimli --target t").contains("tsan"));
        assert!(!command(None, "rustc --crate-name std --target t").contains("sysroot"));
        assert!(command(None, "rustc --crate-name panic_abort --target t").ends_with("=abort"));
    }
}
