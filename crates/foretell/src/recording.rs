//! What the commands that run programs have in common.

use std::ffi::OsString;

use foretell_report::text::grouped;
use foretell_session::{Blocks, Glob, Java, Launch, Recorded};

use crate::failure::Failure;

/// How to record.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct RecordOptions {
    /// Seed of the scheduler: the same seed gives the same run
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// How many accesses and calls a thread runs, on average, before another may go on
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) quantum: u64,

    /// Make a symbolic trace of a C program that is built with `foretell cc --symbolic`: its branches and writes
    /// as expressions over what shared reads saw
    #[arg(long)]
    pub(crate) symbolic: bool,

    /// Keep every access, however many there are: to memory that threads hand over when they are created and joined (without
    /// this, the first 262,144), and to memory that one thread uses alone for long and others after that
    #[arg(long)]
    keep_all: bool,

    /// What counts as an atomic block: markers in the source, outermost lock scopes without a wait,
    /// functions (those of --atomic-functions)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "markers,locks")]
    blocks: Vec<BlockSource>,

    /// Functions whose calls are atomic blocks: names, `*` is any text
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    atomic_functions: Vec<String>,

    /// Java: record these classes only, by their full names, `*` is any text: 'com.example.*'
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    include: Vec<String>,

    /// Java: do not record these classes
    #[arg(long, value_name = "GLOB", value_delimiter = ',')]
    exclude: Vec<String>,

    /// Java: methods with an annotation of this name are atomic blocks (one of the markers)
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = "Atomic")]
    atomic_annotations: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum BlockSource {
    Markers,
    Locks,
    Functions,
    None,
}

impl RecordOptions {
    /// What counts as an atomic block.
    pub(crate) fn blocks(&self) -> Result<Blocks, Failure> {
        if self.blocks.contains(&BlockSource::Functions) && self.atomic_functions.is_empty() {
            return Err(Failure::Input(
                "foretell: --blocks functions: say which ones with --atomic-functions".to_owned(),
            ));
        }
        Ok(Blocks {
            markers: self.blocks.contains(&BlockSource::Markers),
            locks: self.blocks.contains(&BlockSource::Locks),
            functions: self.atomic_functions.iter().map(|pattern| Glob::new(pattern)).collect(),
        })
    }

    /// A run of a command with these options.
    pub(crate) fn launch(&self, command: Vec<OsString>) -> Launch {
        let markers = self.blocks.contains(&BlockSource::Markers);
        let java = Java {
            include: self.include.clone(),
            exclude: self.exclude.clone(),
            atomic: self.atomic_functions.clone(),
            annotations: if markers { self.atomic_annotations.clone() } else { Vec::new() },
        };
        let Self { seed, quantum, symbolic, keep_all, .. } = *self;
        Launch { seed, quantum, symbolic, keep_all, java, ..Launch::new(command) }
    }
}

/// One line about what was recorded.
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
