//! `foretell cluster`: the Python package's commands on a Ray cluster.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::failure::{Failure, Status};

/// Test whether Python has the package and Ray, without importing them.
const PROBE: &str = "import importlib.util, sys
sys.exit(next((i for i, m in enumerate(('foretell', 'ray'), 10) if not importlib.util.find_spec(m)), 0))";

/// Predict, explore and analyse test suites on the nodes of a Ray cluster
///
/// `foretell cluster predict TRACE [--address ADDR]` divides the queries of a trace among the nodes,
/// `foretell cluster explore …` the runs of an exploration, `foretell cluster test …` the predictions
/// and replays of a test suite; the results are those of one machine. Needs the Python package in
/// `python/` with Ray: `pip install './python[cluster]'`. The interpreter is `python3`, or the one
/// that FORETELL_PYTHON names.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct Cluster {
    /// Command and arguments; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    args: Vec<std::ffi::OsString>,
}

impl Cluster {
    pub(crate) fn run(self) -> Result<Status, Failure> {
        let python = std::env::var_os("FORETELL_PYTHON").unwrap_or_else(|| "python3".into());
        let name = python.to_string_lossy().into_owned();
        let probe = Command::new(&python).args(["-c", PROBE]).stdin(Stdio::null()).status();
        let missing = match probe {
            Ok(status) if status.success() => None,
            Ok(status) if status.code() == Some(10) => Some("the package foretell"),
            Ok(status) if status.code() == Some(11) => Some("Ray"),
            Ok(status) => return Err(Failure::Input(format!("{name}: {status}"))),
            Err(error) => {
                return Err(Failure::Input(format!("{name}: {error} (see FORETELL_PYTHON)")));
            }
        };
        if let Some(missing) = missing {
            return Err(Failure::Input(format!(
                "{name} does not have {missing}: pip install './python[cluster]' in Foretell's source"
            )));
        }
        let mut command = Command::new(&python);
        command.args(["-m", "foretell.cluster"]).args(self.args);
        if std::env::var_os("FORETELL").is_none()
            && let Ok(own) = std::env::current_exe()
        {
            command.env("FORETELL", own);
        }
        let error = command.exec();
        Err(Failure::Input(format!("{name}: {error}")))
    }
}
