//! Speed of writing and reading `.ft`, bytes per event, and the memory that reading
//! needs, on a trace that looks like a recording.
//!
//! `cargo bench -p foretell-trace --bench read_binary [-- EVENTS]`; two million events by default.
//!
//! The simulated program has worker threads that run the same code: a shared counter and a table
//! under locks, sums over arrays of their own, a linked list that all of them walk,
//! statistics with atomic updates, and pointers as values. It has no condition variables. A
//! scheduler switches threads after bursts of random length.

use std::io::Write;
use std::time::{Duration, Instant};

use foretell_trace::binary::{self, Writer};
use foretell_trace::stats::Stats;
use foretell_trace::{EventKind, LockId, SiteId, ThreadId, Value, VarId};

const WORKERS: usize = 8;
const ARRAY: usize = 4000;
const LIST: usize = 300;
const TABLE: usize = 2000;

fn main() {
    let events = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(2_000_000);
    // In a file, so that memory is what the reader needs and not what made the trace.
    let path = std::env::temp_dir().join(format!("foretell-bench-{}.ft", std::process::id()));
    let result = run(events, &path);
    let _ = std::fs::remove_file(&path);
    result.expect("the temporary directory can be written");
}

fn run(events: u64, path: &std::path::Path) -> std::io::Result<()> {
    let start = Clock::start();
    let file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut program = Program::new(Writer::new(file)?);
    while program.out.events() < events {
        program.burst()?;
    }
    program.out.set_meta("ended", "exit 0");
    program.out.finish()?.flush()?;
    let bytes = std::fs::metadata(path)?.len();
    println!("simulate and write {:>7.1} million events/s", rate(events, start));
    println!("size               {:>7.2} bytes/event", bytes as f64 / events as f64);

    for _ in 0..3 {
        let file = std::fs::File::open(path)?;
        let start = Clock::start();
        let decoded = binary::read(file).map_err(std::io::Error::other)?;
        println!("read               {:>7.1} million events/s", rate(events, start));
        println!("peak memory        {:>7} MiB after reading", peak_mib());
        let start = Clock::start();
        let stats = Stats::of(&decoded.trace);
        println!("statistics         {:>7.1} million events/s", rate(events, start));
        println!("peak memory        {:>7} MiB after statistics", peak_mib());
        assert!(stats.events as u64 >= events);
    }
    let start = Clock::start();
    let options = foretell_trace::io::ReadOptions::default();
    let loaded = foretell_trace::io::load(path, &options).map_err(std::io::Error::other)?;
    println!("load, check legal  {:>7.1} million events/s", rate(events, start));
    println!("peak memory        {:>7} MiB after loading", peak_mib());
    assert!(loaded.notes.is_empty());
    Ok(())
}

fn rate(events: u64, start: Clock) -> f64 {
    events as f64 / start.elapsed().as_secs_f64() / 1e6
}

/// Processor time of this process where the system tells it, so that other processes do not
/// count; else the time that passes.
enum Clock {
    Processor(Duration),
    Wall(Instant),
}

impl Clock {
    fn start() -> Clock {
        processor_time().map_or_else(|| Clock::Wall(Instant::now()), Clock::Processor)
    }

    fn elapsed(&self) -> Duration {
        match self {
            Clock::Processor(start) => processor_time().unwrap_or_default().saturating_sub(*start),
            Clock::Wall(start) => start.elapsed(),
        }
    }
}

fn processor_time() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    stat.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The most memory this process ever had, where the system tells.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// Task that a worker is in the middle of.
#[derive(Clone, Copy, PartialEq)]
enum Doing {
    Nothing,
    Sum(usize),
    Walk(usize),
    Critical(usize),
}

struct Program<W: Write> {
    out: Writer<W>,
    dice: u64,
    threads: Vec<ThreadId>,
    doing: [Doing; WORKERS],
    /// The list lock is held by a worker that was switched away.
    table_owner: Option<usize>,
    counter: (VarId, i64),
    counter_lock: LockId,
    table: Vec<(VarId, i64)>,
    table_lock: LockId,
    arrays: Vec<Vec<(VarId, i64)>>,
    sums: Vec<(VarId, i64)>,
    list: Vec<(VarId, VarId, i64)>,
    hits: (VarId, i64),
    sites: Vec<SiteId>,
}

impl<W: Write> Program<W> {
    fn new(mut out: Writer<W>) -> Self {
        let mut address = 0x7f3a_1000_0000u64;
        let mut variable = |out: &mut Writer<W>, step: u64| {
            address += step;
            out.variable(&format!("{address:#x}"))
        };
        let threads = (0..WORKERS).map(|i| out.thread(&format!("T{i}"))).collect();
        let counter = (variable(&mut out, 64), 0);
        let hits = (variable(&mut out, 64), 0);
        let table = (0..TABLE).map(|_| (variable(&mut out, 16), 0)).collect();
        let arrays = (0..WORKERS)
            .map(|_| (0..ARRAY).map(|i| (variable(&mut out, 8), (i * i % 977) as i64)).collect())
            .collect();
        let sums = (0..WORKERS).map(|_| (variable(&mut out, 64), 0)).collect();
        let list = (0..LIST)
            .map(|i| {
                (variable(&mut out, 48), variable(&mut out, 8), 0x5555_0000_0000 + i as i64 * 48)
            })
            .collect();
        let main = out.site("main.c:12", None);
        let sites = (0..20).map(|i| out.site(&format!("work.c:{}", 100 + i), Some(main))).collect();
        let counter_lock = out.lock("0x7f3a20000000");
        let table_lock = out.lock("0x7f3a20000040");
        Program {
            out,
            dice: 1,
            threads,
            doing: [Doing::Nothing; WORKERS],
            table_owner: None,
            counter,
            counter_lock,
            table,
            table_lock,
            arrays,
            sums,
            list,
            hits,
            sites,
        }
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        (self.dice >> 33) as usize % sides
    }

    /// One worker runs until it is switched away.
    fn burst(&mut self) -> std::io::Result<()> {
        let worker = self.roll(WORKERS);
        for _ in 0..1 + self.roll(8) {
            match self.doing[worker] {
                Doing::Nothing => self.choose(worker)?,
                Doing::Sum(i) => self.sum(worker, i)?,
                Doing::Walk(i) => self.walk(worker, i)?,
                Doing::Critical(i) => self.critical(worker, i)?,
            }
        }
        Ok(())
    }

    fn choose(&mut self, worker: usize) -> std::io::Result<()> {
        self.doing[worker] = match self.roll(4) {
            0 => Doing::Sum(self.roll(ARRAY - 50)),
            1 => Doing::Walk(0),
            2 if self.table_owner.is_none() => {
                self.table_owner = Some(worker);
                let lock = self.table_lock;
                self.push(worker, EventKind::Acquire { lock }, 0)?;
                Doing::Critical(self.roll(TABLE))
            }
            _ => return self.count(worker),
        };
        Ok(())
    }

    /// `lock; counter++; unlock; hits.fetch_add(1)`
    fn count(&mut self, worker: usize) -> std::io::Result<()> {
        let lock = self.counter_lock;
        self.push(worker, EventKind::Acquire { lock }, 1)?;
        let (var, value) = self.counter;
        self.read(worker, var, value, 2)?;
        self.write(worker, var, value + 1, 2)?;
        self.counter.1 += 1;
        self.push(worker, EventKind::Release { lock }, 3)?;
        let (var, hits) = self.hits;
        self.hits.1 += 1;
        let old = Some(self.out.values().intern(Value::Int(hits)));
        let new = Some(self.out.values().intern(Value::Int(hits + 1)));
        self.push(worker, EventKind::Update { var, old, new, register: None, expr: None }, 4)
    }

    /// `sum += array[i]`
    fn sum(&mut self, worker: usize, i: usize) -> std::io::Result<()> {
        let (var, value) = self.arrays[worker][i];
        self.read(worker, var, value, 5)?;
        let (var, sum) = self.sums[worker];
        self.read(worker, var, sum, 6)?;
        self.sums[worker].1 = (sum + value) % 1_000_000;
        self.write(worker, var, self.sums[worker].1, 6)?;
        let goes_on = i + 1 < ARRAY && self.roll(40) != 0;
        self.doing[worker] = if goes_on { Doing::Sum(i + 1) } else { Doing::Nothing };
        Ok(())
    }

    /// `while (node->key != key) node = node->next`
    fn walk(&mut self, worker: usize, i: usize) -> std::io::Result<()> {
        let (key, next, pointer) = self.list[i];
        self.read(worker, key, (i * 7919 % 1000) as i64, 7)?;
        self.read(worker, next, pointer, 8)?;
        let goes_on = i + 1 < LIST && self.roll(60) != 0;
        self.doing[worker] = if goes_on { Doing::Walk(i + 1) } else { Doing::Nothing };
        Ok(())
    }

    /// A probe of the shared table; the entry found is written.
    fn critical(&mut self, worker: usize, i: usize) -> std::io::Result<()> {
        let (var, value) = self.table[i];
        self.read(worker, var, value, 9)?;
        if self.roll(5) != 0 {
            self.doing[worker] = Doing::Critical((i + 1) % TABLE);
            return Ok(());
        }
        let fresh = (self.roll(1 << 20) as i64) << 24;
        self.table[i].1 = fresh;
        self.write(worker, var, fresh, 10)?;
        let lock = self.table_lock;
        self.push(worker, EventKind::Release { lock }, 11)?;
        self.table_owner = None;
        self.doing[worker] = Doing::Nothing;
        Ok(())
    }

    fn read(&mut self, worker: usize, var: VarId, value: i64, site: usize) -> std::io::Result<()> {
        let value = Some(self.out.values().intern(Value::Int(value)));
        self.push(worker, EventKind::Read { var, atomic: false, value, register: None }, site)
    }

    fn write(&mut self, worker: usize, var: VarId, value: i64, site: usize) -> std::io::Result<()> {
        let value = Some(self.out.values().intern(Value::Int(value)));
        self.push(worker, EventKind::Write { var, atomic: false, value, expr: None }, site)
    }

    fn push(&mut self, worker: usize, kind: EventKind, site: usize) -> std::io::Result<()> {
        self.out.push(self.threads[worker], kind, Some(self.sites[site]))
    }
}
