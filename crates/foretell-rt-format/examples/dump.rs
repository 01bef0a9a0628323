//! Prints a raw log, one record a line: `dump LOG`.

use foretell_rt_format::Log;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: dump LOG");
        return ExitCode::from(2);
    };
    match dump(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{path}: {e}");
            ExitCode::from(2)
        }
    }
}

fn dump(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    use std::io::Write;
    let bytes = std::fs::read(path)?;
    let log = Log::parse(&bytes)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{:?}", log.header)?;
    for entry in log.events() {
        let e = entry?;
        let mark = if e.record.counted() { '#' } else { ' ' };
        writeln!(out, "T{} {mark}{} {:x?}", e.thread, e.ordinal, e.record)?;
    }
    Ok(())
}
