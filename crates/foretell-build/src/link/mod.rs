//! Links recorded programs so that calls of functions that are not recorded are noted.
//!
//! gcc and clang look for the linker in the directory that [`Linker`] makes for a compiler call.
//! They find a script there, which hands its command line over to the driver and then runs what the
//! driver answers: the real linker, with the stubs' object as first input and with copies of the
//! recorded objects that call the stubs. The script and the driver talk through two pipes of the
//! driver's process, which are open as long as the driver lives.
//!
//! | module | content |
//! |---|---|
//! | `command` | command line of the linker: inputs, libraries, linker scripts |
//! | `elf`, `archive` | symbols of objects, shared libraries and archives; renaming |
//! | `scan` | the functions that get stubs |
//! | `functions` | the table of functions, by the state that they use |
//! | `locks` | the table of lock functions |
//! | `stubs` | the object with the stubs |

mod archive;
mod command;
mod effects;
mod elf;
mod functions;
mod locks;
mod scan;
mod stubs;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process;

use command::Command;
pub(crate) use locks::Locks;

use crate::Error;

/// Names under which compilers look for a linker.
const NAMES: &[&str] = &["ld", "ld.bfd", "ld.gold", "ld.lld", "ld.mold"];
/// Name of the script for a linker that the user gives by its path.
const BY_PATH: &str = "ld.by-path";
/// Directories that linkers search by themselves.
const DEFAULT_DIRECTORIES: &[&str] = &[
    "/usr/local/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/local/lib64",
    "/lib64",
    "/usr/lib64",
    "/usr/local/lib",
    "/lib",
    "/usr/lib",
];

/// The linker of one compiler call: scripts in a directory, and the driver's ends of the pipes.
pub(crate) struct Linker {
    directory: PathBuf,
    compiler: OsString,
    /// Arguments of the compiler that decide which linker it finds.
    search: Vec<OsString>,
    /// Linker that the user gives by its path.
    by_path: Option<OsString>,
    runtime: Option<PathBuf>,
    locks: Locks,
    requests: (PipeReader, PipeWriter),
    answers: (PipeReader, PipeWriter),
}

impl Linker {
    /// Puts the scripts into `directory`, for a call of `compiler` with these arguments; `runtime`
    /// is the archive that it links, `locks` are the lock functions. Returns the linker and the
    /// arguments to call the compiler with.
    pub(crate) fn new(
        directory: &Path,
        compiler: &OsStr,
        arguments: &[OsString],
        runtime: Option<&Path>,
        locks: Locks,
    ) -> Result<(Linker, Vec<OsString>), Error> {
        let pipe = || io::pipe().map_err(|e| Error::Other(format!("cannot make a pipe: {e}")));
        let mut linker = Linker {
            directory: directory.to_owned(),
            compiler: compiler.to_owned(),
            search: Vec::new(),
            by_path: None,
            runtime: runtime.map(Path::to_owned),
            locks,
            requests: pipe()?,
            answers: pipe()?,
        };
        let arguments = linker.read_arguments(arguments);
        linker.write_scripts().map_err(Error::file(directory))?;
        Ok((linker, arguments))
    }

    /// Notes the arguments that decide which linker the compiler finds. Returns all arguments, with
    /// the script in the place of a linker given by its path.
    fn read_arguments(&mut self, arguments: &[OsString]) -> Vec<OsString> {
        let mut out = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let bytes = word.as_bytes();
            let path = bytes
                .strip_prefix(b"--ld-path=")
                .or_else(|| bytes.strip_prefix(b"-fuse-ld=").filter(|p| p.starts_with(b"/")));
            if let Some(path) = path {
                self.by_path = Some(OsString::from_vec(path.to_vec()));
                let option = &bytes[..bytes.len() - path.len()];
                let script = self.directory.join(BY_PATH);
                out.push(OsString::from_vec([option, script.as_os_str().as_bytes()].concat()));
                continue;
            }
            let with_value = ["-B", "-target", "--sysroot"].iter().any(|option| word == option);
            let starts = ["-B", "--sysroot=", "--target=", "--gcc-toolchain=", "-m"];
            out.push(word.clone());
            if with_value && let Some(value) = words.next() {
                out.push(value.clone());
                self.search.extend([word.clone(), value.clone()]);
            } else if starts.iter().any(|start| bytes.starts_with(start.as_bytes())) {
                self.search.push(word.clone());
            }
        }
        out
    }

    fn write_scripts(&self) -> io::Result<()> {
        let quoted = quote(self.directory.as_os_str().as_bytes());
        let mut script = b"#!/bin/sh\nd=".to_vec();
        script.extend(quoted);
        let driver = format!("/proc/{}/fd", process::id());
        let (request, answer) = (self.requests.1.as_raw_fd(), self.answers.0.as_raw_fd());
        write!(
            script,
            "
printf '%s\\0' \"${{0##*/}}\" \"$@\" > \"$d/request.$$\" &&
    echo $$ > {driver}/{request} &&
    read -r answer < {driver}/{answer} &&
    [ \"$answer\" = $$ ] || {{
        echo 'foretell: the linker cannot reach the compiler driver' >&2
        exit 1
    }}
. \"$d/link.$$\"
"
        )?;
        for name in NAMES.iter().copied().chain(self.by_path.is_some().then_some(BY_PATH)) {
            let path = self.directory.join(name);
            fs::write(&path, &script)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    /// Runs `compile` and serves the linker meanwhile.
    pub(crate) fn serve<T>(self, compile: impl FnOnce() -> T) -> T {
        let Linker { requests: (requests, open), answers: (answers_open, mut answers), .. } = self;
        let job = Job {
            directory: self.directory,
            compiler: self.compiler,
            search: self.search,
            by_path: self.by_path,
            runtime: self.runtime,
            locks: self.locks,
        };
        std::thread::scope(|scope| {
            scope.spawn(move || {
                for line in BufReader::new(requests).lines() {
                    let Ok(line) = line else { break };
                    job.answer(&line);
                    if writeln!(answers, "{line}").is_err() {
                        break;
                    }
                }
            });
            let result = compile();
            // The last writer: the thread ends.
            drop(open);
            drop(answers_open);
            result
        })
    }
}

/// Answers to the linker's script.
struct Job {
    directory: PathBuf,
    compiler: OsString,
    search: Vec<OsString>,
    by_path: Option<OsString>,
    runtime: Option<PathBuf>,
    locks: Locks,
}

impl Job {
    /// Writes the script that links for the process `id` of the linker's script.
    fn answer(&self, id: &str) {
        let script = self.link(id).unwrap_or_else(|error| {
            let message = quote(format!("foretell: {error}").as_bytes());
            [b"echo ", message.as_slice(), b" >&2\nexit 1\n"].concat()
        });
        // A script that is missing is an error of the linker's script.
        let _ = fs::write(self.directory.join(format!("link.{id}")), script);
    }

    /// Returns the script that runs the real linker.
    fn link(&self, id: &str) -> Result<Vec<u8>, Error> {
        let request = self.directory.join(format!("request.{id}"));
        let bytes = fs::read(&request).map_err(Error::file(&request))?;
        let mut words = bytes.split(|&b| b == 0).map(<[u8]>::to_vec);
        let name = words.next().unwrap_or_default();
        let mut words: Vec<Vec<u8>> = words.collect();
        // Every word ends with a zero.
        words.pop();
        let words = command::expand(&words);
        let mut script = [b"exec ", quote(self.real(&name)?.as_bytes()).as_slice()].concat();
        match self.with_stubs(id, &words)? {
            None => script.extend(b" \"$@\"\n"),
            Some(words) => {
                let path = self.directory.join(format!("arguments.{id}"));
                fs::write(&path, command::response_file(&words)).map_err(Error::file(&path))?;
                script.extend(b" @");
                script.extend(quote(path.as_os_str().as_bytes()));
                script.push(b'\n');
            }
        }
        Ok(script)
    }

    /// Returns the command line of a link with stubs; `None` if none are needed.
    fn with_stubs(&self, id: &str, words: &[Vec<u8>]) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let command = Command::of(words, DEFAULT_DIRECTORIES);
        if command.relocatable {
            return Ok(None);
        }
        let plan = scan::plan(&command, self.runtime.as_deref(), &self.locks);
        if plan.stubs.is_empty() && plan.rewritten.is_empty() {
            return Ok(None);
        }
        let directory = self.directory.join(format!("inputs.{id}"));
        let write = |path: &Path, bytes: &[u8]| {
            let parent = path.parent().unwrap_or(&directory);
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(path, bytes))
                .map_err(Error::file(path))
        };
        let mut out = Vec::new();
        if !plan.stubs.is_empty() {
            let stubs = directory.join("foretell-stubs.o");
            write(&stubs, &stubs::object(&plan.stubs))?;
            out.push(stubs.into_os_string().into_vec());
        }
        let mut replaced: Vec<(std::ops::Range<usize>, PathBuf)> = Vec::new();
        for (index, bytes) in &plan.rewritten {
            let input = &command.inputs[*index];
            let Some(range) = input.words.clone() else { continue };
            let path = scan::rewritten_path(&directory, *index, input);
            write(&path, bytes)?;
            replaced.push((range, path));
        }
        for (i, word) in words.iter().enumerate() {
            match replaced.iter().find(|(range, _)| range.contains(&i)) {
                None => out.push(word.clone()),
                Some((range, path)) if range.start == i => {
                    out.push(path.as_os_str().as_bytes().to_vec());
                }
                Some(_) => {}
            }
        }
        Ok(Some(out))
    }

    /// Returns the linker that the compiler would run for this name.
    fn real(&self, name: &[u8]) -> Result<OsString, Error> {
        if name == BY_PATH.as_bytes()
            && let Some(path) = &self.by_path
        {
            return Ok(path.clone());
        }
        let name = OsStr::from_bytes(name);
        let mut option = OsString::from("-print-prog-name=");
        option.push(name);
        let output = process::Command::new(&self.compiler).args(&self.search).arg(option).output();
        let shown = output.map(|o| o.stdout).unwrap_or_default();
        let path = OsStr::from_bytes(shown.trim_ascii_end()).to_owned();
        if Path::new(&path).is_absolute() {
            return Ok(path);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path)
            .map(|directory| directory.join(name))
            .find(|candidate| candidate.is_file())
            .map(PathBuf::into_os_string)
            .ok_or_else(|| Error::Other(format!("cannot find the linker {}", name.display())))
    }
}

/// Returns a word of a shell script that stands for this text.
fn quote(text: &[u8]) -> Vec<u8> {
    let mut out = vec![b'\''];
    for &b in text {
        if b == b'\'' { out.extend(b"'\\''") } else { out.push(b) }
    }
    out.push(b'\'');
    out
}
