//! Runs the real compiler with instrumentation and the runtime.
//!
//! The real compiler gets the user's own arguments and a few more: instrumentation where it
//! compiles, the runtime where it links. A command line that does neither (`--version`,
//! `-print-…`) stays as it is.
//!
//! gcc takes the runtime for its own libtsan, from a directory made for the call. In a shared
//! library that libtsan is empty: the hooks are those of the executable. clang leaves its runtime
//! out and gets ours as one more input. Both find the linker's wrapper in that directory.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::child::status;
use crate::compiler::{distinguish_volatile, has_volatile_hooks, is_clang};
use crate::link::{Linker, Locks};
use crate::request::Request;
use crate::{Error, headers, runtime};

/// Functions that write to memory and that gcc replaces by stores, without a hook, where the length
/// is a constant. The runtime records the calls. Functions that only read are not among them: gcc
/// evaluates those in constant expressions, which would not compile without.
const EXPANDED_BY_GCC: [&str; 16] = [
    "bcopy",
    "bzero",
    "memcpy",
    "memmove",
    "mempcpy",
    "memset",
    "snprintf",
    "sprintf",
    "stpcpy",
    "stpncpy",
    "strcat",
    "strcpy",
    "strncat",
    "strncpy",
    "vsnprintf",
    "vsprintf",
];

/// Returns the lock functions, with those of the user's files, and the arguments without the option
/// that names these files.
fn lock_tables(arguments: &[OsString]) -> Result<(Locks, Vec<OsString>), Error> {
    const OPTION: &[u8] = b"--foretell-locks=";
    let mut locks = Locks::table().clone();
    let mut rest = Vec::new();
    for word in arguments {
        match word.as_bytes().strip_prefix(OPTION) {
            Some(file) => locks.add_file(Path::new(OsStr::from_bytes(file)))?,
            None => rest.push(word.clone()),
        }
    }
    Ok((locks, rest))
}

/// Option of the linker of Rust programs, which link the runtime's shared library by themselves.
pub(crate) const RUST_LINK: &str = "--foretell-rust";

/// Links a Rust program: calls of functions that are not recorded go through stubs.
fn link_rust(compiler: &OsStr, arguments: &[OsString]) -> Result<ExitStatus, Error> {
    let arguments: Vec<OsString> =
        arguments.iter().filter(|word| *word != RUST_LINK).cloned().collect();
    let start = |source| Error::Start { program: compiler.to_string_lossy().into(), source };
    let directory = runtime::linker_directory(None)?;
    let locks = Locks::table().clone();
    let (linker, arguments) = Linker::new(directory.path(), compiler, &arguments, None, locks)?;
    let mut command = Command::new(compiler);
    command.arg(format!("-B{}", directory.path().display())).args(arguments);
    linker.serve(|| status(&mut command)).map_err(start)
}

/// Runs `compiler` with the arguments of the user and those for recording. Returns its exit status;
/// passes a warning, if there is one, to `warn`.
///
/// # Errors
/// When the command line cannot work, or the compiler or the runtime is missing.
pub(crate) fn run(
    compiler: &OsStr,
    arguments: &[OsString],
    warn: impl FnOnce(&str),
) -> Result<ExitStatus, Error> {
    if arguments.iter().any(|word| word == RUST_LINK) {
        return link_rust(compiler, arguments);
    }
    let (locks, arguments) = &lock_tables(arguments)?;
    let request = Request::of(arguments);
    let mut command = Command::new(compiler);
    let start = |source| Error::Start { program: compiler.to_string_lossy().into(), source };
    if !request.sources && !request.links {
        return Err(start(command.args(arguments).exec()));
    }
    if let Some(refusal) = request.refusal() {
        return Err(Error::Other(refusal));
    }
    if request.optimised && request.sources && !request.probe {
        warn(
            "optimised code: the compiler may merge racy reads, which are then not seen; -O0 or -Og shows all",
        );
    }
    let clang = is_clang(compiler);
    // The linker's wrapper reads the symbols of objects; the compiler's own intermediate form has
    // none.
    let no_lto = arguments.iter().any(|word| word.to_string_lossy().starts_with("-flto"));
    if request.sources {
        command.arg("-fsanitize=thread");
        if clang {
            command.args(["-mllvm", "-tsan-instrument-read-before-write=1"]);
        } else {
            command.args(EXPANDED_BY_GCC.map(|name| format!("-fno-builtin-{name}")));
        }
        if has_volatile_hooks(compiler) {
            command.args(distinguish_volatile(clang));
        }
        if !request.debug {
            command.arg("-g");
        }
        if let Some(directory) = headers::library_directory() {
            command.arg("-isystem").arg(directory);
        }
        // After all other directories: a header of the program's own comes first.
        if let Some(directory) = headers::marker_directory() {
            command.arg("-idirafter").arg(directory);
        }
    }
    if !request.links || request.relocatable {
        command.args(arguments).args(no_lto.then_some("-fno-lto"));
        return Err(start(command.exec()));
    }
    let archive = if request.shared { None } else { Some(runtime::archive()?) };
    // Instrumented libraries that are loaded later find the hooks in the executable.
    const EXPORT: &str = "-Wl,--export-dynamic-symbol=__tsan_*,--export-dynamic-symbol=__foretell_*,--export-dynamic-symbol=pthread_*,--export-dynamic-symbol=sem_*";
    let directory = runtime::linker_directory(archive.as_deref().filter(|_| !clang))?;
    let (linker, arguments) =
        Linker::new(directory.path(), compiler, arguments, archive.as_deref(), locks.clone())?;
    let dir = directory.path().display();
    command.arg(format!("-B{dir}"));
    if clang {
        command.args(["-fsanitize=thread", "-fno-sanitize-link-runtime"]);
        command.args(arguments);
        if let Some(archive) = &archive {
            command.arg("-Wl,--whole-archive").arg(archive).arg("-Wl,--no-whole-archive");
            command.args([EXPORT, "-lpthread", "-ldl", "-lm", "-lrt", "-lgcc_s"]);
        }
    } else {
        command.args(["-fsanitize=thread", "-static-libtsan"]);
        command.arg(format!("-L{dir}")).args(arguments);
        if archive.is_some() {
            command.args([EXPORT, "-lpthread", "-ldl", "-lm", "-lrt"]);
        }
    }
    command.args(no_lto.then_some("-fno-lto"));
    linker.serve(|| status(&mut command)).map_err(start)
}
