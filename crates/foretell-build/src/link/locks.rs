//! The table of lock functions of libraries that are not recorded.
//!
//! The table is `hidden/locks.txt`, which describes the format; a file of the user adds groups to
//! it. A function of the table gets a stub that calls the runtime's `__foretell_lock_call`, which
//! records the lock and calls the function.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use crate::Error;

const TEXT: &str = include_str!("../../hidden/locks.txt");

/// Operation on a lock or on its condition. The numbers are those of the stub's descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operation {
    Acquire = 1,
    Try = 2,
    Timed = 3,
    Release = 4,
    AcquireShared = 5,
    TryShared = 6,
    TimedShared = 7,
    ReleaseShared = 8,
    Wait = 9,
    WaitUntil = 10,
    Signal = 11,
    Broadcast = 12,
    Parallel = 13,
}

impl Operation {
    fn parse(word: &str) -> Option<Operation> {
        use Operation::*;
        Some(match word {
            "acquire" => Acquire,
            "try" => Try,
            "timed" => Timed,
            "release" => Release,
            "acquire-shared" => AcquireShared,
            "try-shared" => TryShared,
            "timed-shared" => TimedShared,
            "release-shared" => ReleaseShared,
            "wait" => Wait,
            "wait-until" => WaitUntil,
            "signal" => Signal,
            "broadcast" => Broadcast,
            "parallel" => Parallel,
            _ => return None,
        })
    }

    /// Whether its result says if it has succeeded.
    fn may_fail(self) -> bool {
        use Operation::*;
        matches!(self, Try | Timed | TryShared | TimedShared | WaitUntil)
    }

    /// Whether it has a second argument: the lock of a wait, the data of a function.
    fn has_second(self) -> bool {
        self.waits() || self == Operation::Parallel
    }

    fn waits(self) -> bool {
        matches!(self, Operation::Wait | Operation::WaitUntil)
    }
}

/// Result of a function that has succeeded. The numbers are those of the stub's descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Success {
    /// An `int` other than zero.
    Nonzero = 0,
    /// The `int` zero.
    Zero = 1,
    /// The `bool` true.
    True = 2,
}

/// A function of the table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LockFunction {
    operation: Operation,
    /// Argument that is the lock, the condition, or the function that the threads of a team call;
    /// none: one lock for the program.
    argument: Option<u8>,
    /// Argument that is the lock of a wait, or the data of that function; argument that is the time.
    lock: u8,
    time: u8,
    success: Success,
    /// Result of success of the function that tries to take the lock.
    try_success: Success,
    /// Further functions that the runtime needs: the one that tries to take the lock, and the one
    /// that releases it; without an argument, the second stands for the lock.
    pub(super) others: [Option<Vec<u8>>; 2],
    /// Function of a library whose threads are not modelled: a program that calls it does not use
    /// the entry.
    unless: Option<Vec<u8>>,
}

impl LockFunction {
    /// Word of the descriptor:
    ///
    /// | bits | content |
    /// |---|---|
    /// | 0 to 3 | operation |
    /// | 4 to 6 | argument; 7: none |
    /// | 8 to 10 | argument that is the lock of a wait, or the data of a function |
    /// | 12 to 14 | argument that is the time of a wait |
    /// | 16, 17 | result of success |
    /// | 18, 19 | result of success of the function that tries to take the lock |
    pub(super) fn word(&self) -> u32 {
        self.operation as u32
            | u32::from(self.argument.unwrap_or(7)) << 4
            | u32::from(self.lock) << 8
            | u32::from(self.time) << 12
            | (self.success as u32) << 16
            | (self.try_success as u32) << 18
    }
}

/// The lock functions, by their linker names.
#[derive(Clone, Default, Debug)]
pub(crate) struct Locks {
    functions: HashMap<Vec<u8>, LockFunction>,
}

impl Locks {
    /// Returns the functions of the table.
    pub(crate) fn table() -> &'static Locks {
        static TABLE: OnceLock<Locks> = OnceLock::new();
        TABLE.get_or_init(|| {
            let mut locks = Locks::default();
            // A test reads the table; a mistake would be seen there.
            let _ = locks.add(TEXT);
            locks
        })
    }

    /// Adds the groups of a user's file.
    ///
    /// # Errors
    /// When the file cannot be read, or has a line that is not well-formed: the message has its
    /// number.
    pub(crate) fn add_file(&mut self, path: &Path) -> Result<(), Error> {
        let text = std::fs::read_to_string(path).map_err(Error::file(path))?;
        let located =
            |(line, problem)| Error::Other(format!("{}:{line}: {problem}", path.display()));
        self.add(&text).map_err(located)
    }

    /// Adds the groups of a text. Returns the number of the line that is not well-formed, and the
    /// problem, if there is one.
    fn add(&mut self, text: &str) -> Result<(), (usize, String)> {
        let mut group: Vec<(usize, Vec<u8>, LockFunction)> = Vec::new();
        let mut unless = None;
        let mut named = false;
        for (number, line) in (1..).zip(text.lines()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.is_empty() || words[0].starts_with('#') {
                continue;
            }
            if !line.starts_with([' ', '\t']) {
                if !line.trim_end().ends_with(':') {
                    return Err((number, "expected `NAME:`, the start of a group".to_owned()));
                }
                self.close(&mut group, unless.take())?;
                named = true;
                continue;
            }
            if !named {
                return Err((number, "a function before the first group".to_owned()));
            }
            if let ["unless", name] = words[..] {
                unless = Some(name.as_bytes().to_vec());
                continue;
            }
            let (name, function) = function(&words).map_err(|problem| (number, problem))?;
            group.push((number, name, function));
        }
        self.close(&mut group, unless)
    }

    /// Ends a group: its functions get to know each other.
    fn close(
        &mut self,
        group: &mut Vec<(usize, Vec<u8>, LockFunction)>,
        unless: Option<Vec<u8>>,
    ) -> Result<(), (usize, String)> {
        use Operation::*;
        // The runtime gives the lock alone to these.
        let first = |operation: Operation| {
            let alone = |f: &LockFunction| f.operation == operation && f.argument == Some(0);
            let found = group.iter().find(|(.., f)| alone(f));
            found.map(|(_, name, function)| (name.clone(), function.success))
        };
        let (tries, tries_shared) = (first(Try), first(TryShared));
        let releases = first(Release).map(|(name, _)| name);
        let identity = group.first().map(|(_, name, _)| name.clone());
        for (number, name, mut function) in std::mem::take(group) {
            if function.operation.waits() && (tries.is_none() || releases.is_none()) {
                let problem = "a wait needs `try` and `release` of argument 0 in the same group";
                return Err((number, problem.to_owned()));
            }
            let shared = function.operation == AcquireShared;
            let tries = if shared { &tries_shared } else { &tries };
            let second = if function.argument.is_some() { &releases } else { &identity };
            function.try_success = tries.as_ref().map_or(Success::Nonzero, |(_, success)| *success);
            function.unless = unless.clone();
            function.others = [tries.as_ref().map(|(name, _)| name.clone()), second.clone()];
            self.functions.insert(name, function);
        }
        Ok(())
    }

    /// Returns a function by its linker name, for a program whose calls `calls` knows.
    pub(super) fn get(&self, name: &[u8], calls: impl Fn(&[u8]) -> bool) -> Option<&LockFunction> {
        let holds = |f: &&LockFunction| !f.unless.as_deref().is_some_and(calls);
        self.functions.get(name).filter(holds)
    }
}

/// Reads a line of a group.
fn function(words: &[&str]) -> Result<(Vec<u8>, LockFunction), String> {
    let Some(operation) = Operation::parse(words[0]) else {
        return Err(format!(
            "`{}` is no operation; they are acquire, try, timed, release, each also with -shared, \
             wait, wait-until, signal, broadcast, parallel, and unless",
            words[0]
        ));
    };
    let mut rest = words[1..].iter();
    let mut next =
        |what: &str| rest.next().copied().ok_or_else(|| format!("`{}` without {what}", words[0]));
    let number = |word: &str| match word.parse::<u8>() {
        Ok(n) if n < 6 => Ok(n),
        _ => Err(format!("`{word}` is no number of an argument, from 0 to 5")),
    };
    let name = next("a function")?.as_bytes().to_vec();
    let argument = next("the number of an argument")?;
    let is_lock =
        !operation.has_second() && !matches!(operation, Operation::Signal | Operation::Broadcast);
    let argument = if argument == "-" && is_lock { None } else { Some(number(argument)?) };
    let lock = match operation.has_second() {
        true => number(next("a second argument: the lock, or the data")?)?,
        false => 0,
    };
    let success = match operation.may_fail() {
        false => Success::Nonzero,
        true => match next("the result of success: nonzero, zero or true")? {
            "nonzero" => Success::Nonzero,
            "zero" => Success::Zero,
            "true" => Success::True,
            other => return Err(format!("`{other}` is none of nonzero, zero and true")),
        },
    };
    let time = match operation {
        Operation::WaitUntil => number(next("the argument that is the time")?)?,
        _ => 0,
    };
    if let Some(word) = rest.next() {
        return Err(format!("`{word}` is one word too many"));
    }
    let others = [None, None];
    let try_success = Success::Nonzero;
    let unless = None;
    let function =
        LockFunction { operation, argument, lock, time, success, try_success, others, unless };
    Ok((name, function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_well_formed() {
        let mut locks = Locks::default();
        assert_eq!(locks.add(TEXT), Ok(()));
        let lock = locks.get(b"g_mutex_lock", |_| false).unwrap();
        let others = [b"g_mutex_trylock".to_vec(), b"g_mutex_unlock".to_vec()].map(Some);
        assert_eq!((lock.operation, &lock.others), (Operation::Acquire, &others));
        let reader = locks.get(b"g_rw_lock_reader_lock", |_| false).unwrap();
        assert_eq!(reader.others[0].as_deref(), Some(&b"g_rw_lock_reader_trylock"[..]));
        let critical = [&b"GOMP_critical_start"[..], b"GOMP_critical_end"];
        let [start, end] = critical.map(|name| locks.get(name, |_| false).unwrap());
        assert_eq!((start.argument, &start.others[1]), (None, &end.others[1]));
        assert_eq!(locks.get(b"g_cond_wait_until", |_| false).unwrap().word(), 0x210a);
        let of_libomp = |name: &[u8]| name == b"__kmpc_fork_call";
        assert!(locks.get(b"omp_set_lock", |_| false).is_some());
        assert!(locks.get(b"omp_set_lock", of_libomp).is_none());
    }

    #[test]
    fn mistakes_are_located() {
        let problem = |text: &str| {
            let (line, problem) = Locks::default().add(text).unwrap_err();
            format!("{line}: {problem}")
        };
        assert_eq!(problem("# locks\n    try f 0"), "2: a function before the first group");
        assert_eq!(problem("mine\n"), "1: expected `NAME:`, the start of a group");
        assert_eq!(
            problem("mine:\n    acquire f 6"),
            "2: `6` is no number of an argument, from 0 to 5"
        );
        assert_eq!(
            problem("mine:\n    try f 0"),
            "2: `try` without the result of success: nonzero, zero or true"
        );
        assert_eq!(problem("mine:\n\n    release f 0 1"), "3: `1` is one word too many");
        assert_eq!(
            problem("mine:\n    wait f 0 1\n"),
            "2: a wait needs `try` and `release` of argument 0 in the same group"
        );
        assert!(problem("mine:\n    take f 0").starts_with("2: `take` is no operation"));
        assert_eq!(problem("mine:\n    acquire"), "2: `acquire` without a function");
    }
}
