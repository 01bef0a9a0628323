//! Options of cargo, which are passed on to it.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::failure::Failure;

/// Heading of the options that are passed on.
pub(super) const HEADING: &str = "Cargo options";
/// The target that programs can be recorded on.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Options of every command of cargo that builds.
#[derive(clap::Args, Debug)]
pub(crate) struct CargoOptions {
    /// Package
    #[arg(short, long, value_name = "SPEC", help_heading = HEADING)]
    package: Vec<OsString>,

    /// Features
    #[arg(short = 'F', long, value_name = "LIST", help_heading = HEADING)]
    features: Vec<OsString>,

    /// All features
    #[arg(long, help_heading = HEADING)]
    all_features: bool,

    /// Not the default features
    #[arg(long, help_heading = HEADING)]
    no_default_features: bool,

    /// Profile `release`
    #[arg(short, long, help_heading = HEADING, conflicts_with = "profile")]
    release: bool,

    /// Profile
    #[arg(long, value_name = "NAME", help_heading = HEADING, hide_short_help = true)]
    profile: Option<OsString>,

    /// Path of Cargo.toml
    #[arg(long, value_name = "PATH", help_heading = HEADING, hide_short_help = true)]
    manifest_path: Option<PathBuf>,

    /// Target, which can only be that of this machine
    #[arg(long, value_name = "TRIPLE", help_heading = HEADING, hide_short_help = true)]
    target: Option<String>,

    /// Number of parallel jobs of the build
    #[arg(long, value_name = "N", help_heading = HEADING, hide_short_help = true)]
    build_jobs: Option<OsString>,

    /// Setting of cargo: KEY=VALUE, or a file; cargo's own --config
    #[arg(long, value_name = "KEY=VALUE", help_heading = HEADING, hide_short_help = true)]
    cargo_config: Vec<OsString>,

    /// Cargo.lock stays as it is
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    locked: bool,

    /// No network
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    offline: bool,

    /// --locked and --offline
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    frozen: bool,
}

/// Options that choose a program.
#[derive(clap::Args, Debug)]
pub(super) struct ProgramOptions {
    /// Binary
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    bin: Option<OsString>,

    /// Example
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    example: Option<OsString>,

    #[command(flatten)]
    pub(super) cargo: CargoOptions,
}

/// Returns an option and each of its values.
pub(super) fn each<T: Clone + Into<OsString>>(
    option: &str,
    values: impl IntoIterator<Item = T>,
) -> Vec<OsString> {
    let words = values.into_iter().map(|value| {
        let mut word = OsString::from(format!("{option}="));
        word.push(value.into());
        word
    });
    words.collect()
}

/// Returns the options that are on.
pub(super) fn flags(flags: &[(&str, bool)]) -> Vec<OsString> {
    flags.iter().filter(|(_, on)| *on).map(|(flag, _)| OsString::from(flag)).collect()
}

impl CargoOptions {
    /// Returns the options that `cargo metadata` takes, too.
    ///
    /// # Errors
    /// If programs for the target cannot be recorded.
    pub(super) fn metadata_words(&self) -> Result<Vec<OsString>, Failure> {
        if let Some(target) = self.target.as_deref().filter(|target| *target != TARGET) {
            return Err(Failure::Input(format!(
                "foretell: --target {target}: programs are recorded on {TARGET}"
            )));
        }
        let mut words = each("--manifest-path", &self.manifest_path);
        words.extend(each("--config", &self.cargo_config));
        words.extend(flags(&[
            ("--locked", self.locked),
            ("--offline", self.offline),
            ("--frozen", self.frozen),
        ]));
        Ok(words)
    }

    /// Returns all options.
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words = self.metadata_words().unwrap_or_default();
        words.extend(each("--package", &self.package));
        words.extend(each("--features", &self.features));
        words.extend(each("--profile", &self.profile));
        words.extend(each("--jobs", &self.build_jobs));
        words.extend(flags(&[
            ("--all-features", self.all_features),
            ("--no-default-features", self.no_default_features),
            ("--release", self.release),
        ]));
        words
    }
}

impl ProgramOptions {
    /// Returns all options.
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words = self.cargo.words();
        words.extend(each("--bin", &self.bin));
        words.extend(each("--example", &self.example));
        words
    }
}
