//! Options and messages of the commands that record a program.

use std::ffi::{OsStr, OsString};

use foretell_report::text::grouped;
use foretell_session::{Blocks, Glob, Java, Launch, Recorded};

use crate::failure::Failure;

/// Options of a recording.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct RecordOptions {
    /// Seed of the scheduler; equal seeds give equal runs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// Average number of accesses and calls between two scheduling decisions
    #[arg(long, value_name = "N", default_value_t = 1000, hide_short_help = true,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) quantum: u64,

    /// Record branches and writes as expressions over shared reads (C only)
    ///
    /// `record` needs a program that was built with `foretell cc --symbolic`; `check` builds it so.
    #[arg(long)]
    pub(crate) symbolic: bool,

    /// Record every access, without limits
    ///
    /// Without this option two kinds of accesses may be missing from the trace: those beyond the
    /// first 262,144 to memory whose ownership threads transfer when they are created and joined,
    /// and those to memory that a single thread uses for long before other threads do.
    #[arg(long, hide_short_help = true)]
    keep_all: bool,

    /// Sources of atomic blocks
    ///
    /// `markers`: markers of foretell.h, and annotations in Java. `locks`: outermost lock scopes
    /// without a wait. `functions`: calls of the functions that --atomic-functions names.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "markers,locks")]
    #[arg(hide_short_help = true)]
    blocks: Vec<BlockSource>,

    /// Functions whose calls are atomic blocks; `*` matches any text
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    atomic_functions: Vec<String>,

    /// Steps that threads may still run when main returns or exit is called; 0: none (C, C++)
    ///
    /// Threads that can run go on with recorded code before the program ends, so that the trace has
    /// their accesses. They print nothing then.
    #[arg(long, value_name = "N", default_value_t = foretell_session::EXIT_STEPS)]
    #[arg(hide_short_help = true)]
    exit_steps: u64,

    /// Meaning of volatile accesses of C and C++: plain or atomic
    ///
    /// `plain`: they race like any other access, as the languages have it. `atomic`: they do not
    /// race with one another, as programs assume that use volatile flags between threads.
    #[arg(long, value_name = "MEANING", default_value = "plain", hide_short_help = true)]
    volatile: Volatile,
}

/// Options of a recording for Java programs.
#[derive(clap::Args, Clone, Default, Debug)]
pub(crate) struct JavaOptions {
    /// Record only these classes, by full name: 'com.example.*'
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    #[arg(help_heading = JAVA, hide_short_help = true)]
    include: Vec<String>,

    /// Do not record these classes
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    #[arg(help_heading = JAVA, hide_short_help = true)]
    exclude: Vec<String>,

    /// Annotations that mark a method as an atomic block
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "Atomic")]
    #[arg(help_heading = JAVA, hide_short_help = true)]
    atomic_annotations: Vec<String>,

    /// Classes whose objects end with `close`: a later call is a lifetime violation
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    #[arg(help_heading = JAVA, hide_short_help = true)]
    resources: Vec<String>,

    /// Annotations that mark such a class
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    #[arg(default_value = "MustCall,InheritableMustCall")]
    #[arg(help_heading = JAVA, hide_short_help = true)]
    resource_annotations: Vec<String>,
}

/// Heading of the options for Java programs.
const JAVA: &str = "Java options";

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum BlockSource {
    Markers,
    Locks,
    Functions,
    None,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Volatile {
    Plain,
    Atomic,
}

impl RecordOptions {
    /// Returns the sources of atomic blocks.
    pub(crate) fn blocks(&self) -> Result<Blocks, Failure> {
        if self.blocks.contains(&BlockSource::Functions) && self.atomic_functions.is_empty() {
            return Err(Failure::Input(
                "foretell: --blocks functions needs --atomic-functions".to_owned(),
            ));
        }
        Ok(Blocks {
            markers: self.blocks.contains(&BlockSource::Markers),
            locks: self.blocks.contains(&BlockSource::Locks),
            functions: self.atomic_functions.iter().map(|pattern| Glob::new(pattern)).collect(),
            atomic_volatile: self.volatile == Volatile::Atomic,
        })
    }

    /// Returns the launch of a command with these options.
    pub(crate) fn launch(&self, command: Vec<OsString>, java: &JavaOptions) -> Launch {
        let markers = self.blocks.contains(&BlockSource::Markers);
        let java = Java {
            include: java.include.clone(),
            exclude: java.exclude.clone(),
            atomic: self.atomic_functions.clone(),
            annotations: if markers { java.atomic_annotations.clone() } else { Vec::new() },
            resources: java.resources.clone(),
            resource_annotations: java.resource_annotations.clone(),
        };
        let Self { seed, quantum, exit_steps, symbolic, keep_all, .. } = *self;
        Launch { seed, quantum, exit_steps, symbolic, keep_all, java, ..Launch::new(command) }
    }
}

impl RecordOptions {
    /// Returns the options as they are written on a command line, each after a space; those that
    /// have their default are left out.
    pub(crate) fn words(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut add = |name: &str, value: Option<String>, default: &str| match value {
            Some(value) if value != default => {
                words.push(format!("--{name}"));
                words.push(quoted(value.as_ref()));
            }
            _ => {}
        };
        let names = |list: &[BlockSource]| {
            let names = list.iter().filter_map(clap::ValueEnum::to_possible_value);
            names.map(|name| name.get_name().to_owned()).collect::<Vec<_>>().join(",")
        };
        add("seed", Some(self.seed.to_string()), "0");
        add("quantum", Some(self.quantum.to_string()), "1000");
        add("blocks", Some(names(&self.blocks)), "markers,locks");
        add("atomic-functions", Some(self.atomic_functions.join(",")), "");
        let steps = foretell_session::EXIT_STEPS.to_string();
        add("exit-steps", Some(self.exit_steps.to_string()), &steps);
        add("volatile", (self.volatile == Volatile::Atomic).then(|| "atomic".to_owned()), "");
        let flags = [("--symbolic", self.symbolic), ("--keep-all", self.keep_all)];
        words.extend(flags.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag.to_owned()));
        words.into_iter().map(|word| format!(" {word}")).collect()
    }
}

impl JavaOptions {
    /// Returns the options as [`RecordOptions::words`] does.
    pub(crate) fn words(&self) -> String {
        let default = |list: &[String], default: &str| list.is_empty() || list.join(",") == default;
        [
            ("include", &self.include, ""),
            ("exclude", &self.exclude, ""),
            ("atomic-annotations", &self.atomic_annotations, "Atomic"),
            ("resources", &self.resources, ""),
            ("resource-annotations", &self.resource_annotations, "MustCall,InheritableMustCall"),
        ]
        .into_iter()
        .filter(|(_, list, usual)| !default(list, usual))
        .map(|(name, list, _)| format!(" --{name} {}", quoted(list.join(",").as_ref())))
        .collect()
    }
}

/// Returns a word as a shell reads it.
pub(crate) fn quoted(word: &OsStr) -> String {
    let text = word.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_./=+:,@%".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.into_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// Returns one line about a recorded run.
pub(crate) fn summary(recorded: &Recorded) -> String {
    let t = &recorded.translated;
    format!(
        "recorded {} events of {} threads; {} of {} accesses were to memory that is not shared; {}",
        grouped(t.trace.len() as u64),
        t.trace.names().thread_count(),
        grouped(t.private),
        grouped(t.accesses),
        t.trace.names().meta().get("ended").map_or("", String::as_str),
    )
}
