//! Standard output and standard error.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

use foretell_report::text::{Look, printable};

use crate::control_filter::ControlFilter;

/// The width of output that goes to no terminal.
const DEFAULT_WIDTH: usize = 100;

/// Condition for colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

/// Standard output. When its reader has closed it (`foretell … | head`), further output is dropped:
/// the command goes on to its end, with the exit status that it would have had.
pub(crate) struct Terminal {
    out: BufWriter<StdoutLock<'static>>,
    filter: ControlFilter,
    closed: bool,
    color: bool,
    width: usize,
}

impl Terminal {
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let color = match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
                let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
                io::stdout().is_terminal() && !set("NO_COLOR") && !dumb
            }
        };
        let width = terminal_size::terminal_size()
            .filter(|_| io::stdout().is_terminal())
            .map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0));
        let (out, filter) = (BufWriter::new(io::stdout().lock()), ControlFilter::new(color));
        Terminal { out, filter, closed: false, color, width }
    }

    /// Returns the layout of findings here.
    pub(crate) fn look(&self) -> Look {
        Look { width: self.width, color: self.color, ..Look::default() }
    }

    /// Writes out the rest.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.flush()
    }

    fn unless_closed<T>(&mut self, result: io::Result<T>, instead: T) -> io::Result<T> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(instead)
            }
            other => other,
        }
    }
}

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.closed {
            return Ok(bytes.len());
        }
        let filtered = self.filter.filter(bytes);
        let result = self.out.write_all(&filtered);
        self.unless_closed(result, ())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        let result = self.out.flush();
        self.unless_closed(result, ())
    }
}

/// Prints one line to standard error, without control characters: names in it may come from files.
/// If standard error is closed, the line is lost.
pub(crate) fn complain(message: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(message));
}
