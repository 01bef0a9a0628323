//! `foretell record`: runs a program and saves its trace.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use foretell_report::observed;
use foretell_report::source::Sources;
use foretell_report::text::{Look, Printer, grouped, printable};
use foretell_session::{
    Launch, Mode, Recorded, SignalGuard, Translated, record, save, shell_status, supervise,
};
use foretell_trace::Model;

use crate::failure::{Failure, Status};
use crate::output;
use crate::recording::{JavaOptions, RecordOptions, summary};
use crate::terminal::complain;

/// Run an instrumented program and save its trace
///
/// The program was built with `foretell cc` or with gcc -fsanitize=thread, or is a Java program.
/// Input and output are those of the program. If the run fails (crash, failed assertion, exception
/// that nothing catches, deadlock, killed), the failure is shown and the exit status is 1.
/// Otherwise it is that of the program; 128 plus the signal's number, as in a shell, if a signal
/// like SIGTERM ended it.
#[derive(clap::Args, Debug)]
pub(crate) struct Record {
    #[command(flatten)]
    arguments: RecordArguments,

    #[command(flatten)]
    java: JavaOptions,

    /// Program and arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Options of the commands that record a program.
#[derive(clap::Args, Debug)]
pub(crate) struct RecordArguments {
    /// File for the trace, or directory for the traces; OUT.steps beside it is for `replay`
    ///
    /// Every instrumented process below the command has a trace of its own. In a directory their
    /// names are number and program; beside a file, further ones have a number: foretell.2.ft.
    #[arg(short, long, value_name = "OUT", default_value = "foretell.ft")]
    output: PathBuf,

    #[command(flatten)]
    options: RecordOptions,

    /// Run threads in parallel: faster, but the order of racing accesses may be wrong
    #[arg(long, conflicts_with = "symbolic", hide_short_help = true)]
    parallel: bool,

    /// Print nothing about the recording
    #[arg(long, short)]
    quiet: bool,
}

impl Record {
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let launch = self.arguments.options.launch(self.command, &self.java);
        self.arguments.record(launch)
    }
}

impl RecordArguments {
    /// Returns the launch of a command that is no Java program.
    pub(crate) fn launch(&self, command: Vec<OsString>) -> Launch {
        self.options.launch(command, &JavaOptions::default())
    }

    /// Runs the command of the launch, which these options have made, and saves its trace.
    pub(crate) fn record(self, launch: Launch) -> Result<Status, Failure> {
        let blocks = self.options.blocks()?;
        // SAFETY: no thread has been started yet.
        if let Ok(Some(status)) = unsafe { supervise() } {
            if let Some(signal) = status.signal() {
                complain(&format!("foretell: the recording was ended by signal {signal}"));
            }
            return Ok(Status::Program(shell_status(status)));
        }
        let directory = match self.output.parent() {
            Some(parent) if parent.is_dir() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let mode = if self.parallel { Mode::Parallel } else { Mode::Record };
        let launch = Launch { mode, directory, ..launch };
        // Until the trace is saved, requests to end this process do not end it.
        let _signals = SignalGuard::new();
        let recorded = record(&launch, &blocks)?;
        let files = files(&self.output, &recorded)?;
        self.save(&recorded.translated, &files[0])?;
        if !self.quiet {
            let notes = recorded.notes.iter().map(String::as_str);
            let parallel = self.parallel.then_some(
                "recorded in parallel: the order of racing accesses in the trace may be wrong",
            );
            for note in notes.chain(parallel) {
                complain(&format!("foretell: {note}"));
            }
            complain(&format!("foretell: {}", summary(&recorded)));
        }
        let mut failed = recorded.failure.is_some();
        if failed {
            say_failure(&recorded.translated)?;
        }
        for (process, file) in recorded.others.iter().zip(&files[1..]) {
            self.save(&process.translated, file)?;
            let (name, events) = (&process.name, grouped(process.translated.trace.len() as u64));
            let line = format!("process {name}: recorded {events} events in {}", file.display());
            complain(&format!("foretell: {}", printable(&line)));
            if process.failure.is_some() {
                failed = true;
                say_failure(&process.translated)?;
            }
        }
        if failed {
            return Ok(Status::Found);
        }
        Ok(Status::Program(shell_status(recorded.run.status)))
    }

    fn save(&self, translated: &Translated, file: &Path) -> Result<(), Failure> {
        if file.as_os_str() == "-" {
            output::save(&translated.trace, file)?;
        } else if let Some(saved) = save(translated, file)? {
            complain(&format!(
                "foretell: {}: no space was left: the trace there has the first {} events",
                file.display(),
                grouped(saved as u64),
            ));
        }
        Ok(())
    }
}

/// Returns the files for the traces of all processes: in the directory `output`, named by number
/// and program, or the file `output` and, for further processes, files beside it with a number.
fn files(output: &Path, recorded: &Recorded) -> Result<Vec<PathBuf>, Failure> {
    let directory = output.is_dir() || output.as_os_str().as_encoded_bytes().ends_with(b"/");
    if directory {
        std::fs::create_dir_all(output).map_err(Failure::file(output))?;
    }
    let modules = &recorded.translated.steps.modules;
    let first = modules.first().and_then(|path| path.rsplit('/').next()).unwrap_or("program");
    let names = std::iter::once(first).chain(recorded.others.iter().map(|o| o.name.as_str()));
    let file = |(i, name): (usize, &str)| match (directory, i) {
        (true, _) => output.join(format!("{}-{name}.ft", i + 1)),
        (false, 0) => output.to_path_buf(),
        (false, _) if output.as_os_str() == "-" => PathBuf::from(format!("foretell.{}.ft", i + 1)),
        (false, _) => {
            let extension = output.extension().unwrap_or_default().to_string_lossy();
            output.with_extension(format!("{}.{extension}", i + 1))
        }
    };
    Ok(names.enumerate().map(file).collect())
}

/// Prints the report of the failure of a recorded run to standard error.
fn say_failure(translated: &Translated) -> Result<(), Failure> {
    let trace = translated.trace.whole();
    let mut text = Vec::new();
    if let Some(mut finding) = observed::finding(&trace) {
        finding.id = format!("{}-1", finding.kind);
        let sources = Sources::new(vec![PathBuf::from(".")]);
        let printer = Printer::new(&trace, Model::auto(&trace), &sources, Look::default());
        printer.finding(&mut text, &finding)?;
    }
    String::from_utf8_lossy(&text).trim_end().lines().for_each(complain);
    Ok(())
}
