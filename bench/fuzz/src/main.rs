//! Runs a target by hand; see the library.
//!
//! The inputs run in a child process, which notes the number of each input before it starts it. If
//! the child dies, the parent saves that input and goes on with the next.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use foretell_fuzz::{Context, Target};

/// Most memory that an input may take.
const MEMORY: usize = 2 << 30;
/// Most time that an input may take.
const TIME: Duration = Duration::from_secs(10);

/// The system's allocator, which fails beyond a limit.
struct Limited;

static USED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: as the system's allocator; null is an allowed answer.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if USED.fetch_add(layout.size(), Relaxed) + layout.size() > MEMORY {
            USED.fetch_sub(layout.size(), Relaxed);
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Relaxed);
        // SAFETY: allocated above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// Arguments.
struct Arguments {
    target: Target,
    inputs: u64,
    seed: u64,
    from: u64,
    show: Option<u64>,
    run: Option<PathBuf>,
    /// File to note the input in: this is the child.
    progress: Option<PathBuf>,
}

impl Arguments {
    fn parse() -> Result<Arguments, String> {
        let usage = "usage: foretell-fuzz TARGET [--inputs N] [--seed N] [--from N] [--show N] \
                     [--run FILE]";
        let mut words = std::env::args().skip(1);
        let target = words.next().ok_or(usage)?.parse()?;
        let mut arguments = Arguments {
            target,
            inputs: 100_000,
            seed: 1,
            from: 0,
            show: None,
            run: None,
            progress: None,
        };
        while let Some(word) = words.next() {
            let value = words.next().ok_or(usage)?;
            let number = || value.parse().map_err(|_| format!("{word}: not a number: {value}"));
            match word.as_str() {
                "--inputs" => arguments.inputs = number()?,
                "--seed" => arguments.seed = number()?,
                "--from" => arguments.from = number()?,
                "--show" => arguments.show = Some(number()?),
                "--run" => arguments.run = Some(value.into()),
                "--progress" => arguments.progress = Some(value.into()),
                _ => return Err(usage.to_owned()),
            }
        }
        Ok(arguments)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse() {
        Ok(arguments) => arguments,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let context = Context::new(arguments.target);
    if let Some(input) = arguments.show {
        let bytes = context.input(arguments.seed, input);
        return match std::io::Write::write_all(&mut std::io::stdout(), &bytes) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    if let Some(path) = &arguments.run {
        let bytes = std::fs::read(path).expect("the input");
        context.run(&bytes);
        return ExitCode::SUCCESS;
    }
    match &arguments.progress {
        Some(progress) => work(&context, &arguments, progress),
        None => supervise(&context, &arguments),
    }
}

/// Runs inputs, and notes the number of each before.
fn work(context: &Context, arguments: &Arguments, progress: &Path) -> ExitCode {
    let progress = File::options().write(true).open(progress).expect("the file of the parent");
    for input in arguments.from..arguments.inputs {
        progress.write_all_at(&input.to_le_bytes(), 0).expect("the file of the parent");
        let bytes = context.input(arguments.seed, input);
        let start = Instant::now();
        context.run(&bytes);
        assert!(start.elapsed() < TIME, "input {input} took {:?}", start.elapsed());
    }
    ExitCode::SUCCESS
}

/// Starts children until all inputs have run.
fn supervise(context: &Context, arguments: &Arguments) -> ExitCode {
    let progress = tempfile::NamedTempFile::new().expect("a file");
    let (mut from, mut failures) = (arguments.from, 0);
    while from < arguments.inputs {
        progress.as_file().write_all_at(&from.to_le_bytes(), 0).expect("a file");
        let mut child = Command::new(std::env::current_exe().expect("this program"));
        child.arg(arguments.target.name()).arg("--progress").arg(progress.path());
        for (name, number) in
            [("--inputs", arguments.inputs), ("--seed", arguments.seed), ("--from", from)]
        {
            child.arg(name).arg(number.to_string());
        }
        let mut child = child.stdin(Stdio::null()).spawn().expect("a child");
        let mut seen = (u64::MAX, Instant::now());
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            std::thread::sleep(Duration::from_millis(50));
            let input = noted(progress.as_file());
            if input != seen.0 {
                seen = (input, Instant::now());
            } else if seen.1.elapsed() > 2 * TIME {
                eprintln!("input {input} hangs");
                child.kill().expect("a child");
            }
        };
        if status.success() {
            break;
        }
        let failed = noted(progress.as_file());
        failures += 1;
        std::fs::create_dir_all("failures").expect("a directory");
        let path = format!("failures/{}-{}-{failed}", arguments.target, arguments.seed);
        std::fs::write(&path, context.input(arguments.seed, failed)).expect("a file");
        eprintln!("input {failed} failed ({status}): {path}");
        from = failed + 1;
    }
    println!("{}: {} inputs, {failures} failures", arguments.target, arguments.inputs);
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn noted(file: &File) -> u64 {
    let mut number = [0; 8];
    file.read_exact_at(&mut number, 0).expect("a file");
    u64::from_le_bytes(number)
}
