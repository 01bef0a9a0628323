//! Economy: the runs of an exploration beside the number of schedules, of Mazurkiewicz traces (the
//! runs of an optimal partial-order reduction), and of observation classes (what threads can
//! observe), on the usual families of small programs.
//!
//! `cargo test -p foretell-explore --test completeness economy -- --nocapture` prints the table of
//! docs/explore.md.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::machine::{Code, Do, Machine, State, brute};
use foretell_explore::{Options, explore};

/// A value that no register has: `Unless(NEVER, n)` is a jump.
const NEVER: i64 = -99;

/// The number of complete schedules from a state.
fn schedules(code: &Code, mut state: State, known: &mut HashMap<State, u128>) -> u128 {
    // What was observed does not matter for what can follow.
    state.observed.iter_mut().for_each(Vec::clear);
    if let Some(&count) = known.get(&state) {
        return count;
    }
    let next = successors(code, &mut state);
    let count = match next.len() {
        0 => 1,
        _ => next.into_iter().map(|(_, after)| schedules(code, after, known)).sum(),
    };
    known.insert(state, count);
    count
}

/// The threads that can go on, with the states after their next event.
fn successors(code: &Code, state: &mut State) -> Vec<(usize, State)> {
    let mut next = Vec::new();
    for t in 0..code.0.len() {
        if !state.enabled(code, t) {
            continue;
        }
        for pick in 0..state.waiters(code, t).len().max(1) {
            let mut after = state.clone();
            after.step(code, t, pick, None);
            next.push((t, after));
        }
    }
    next
}

/// Event count of each thread that comes before something.
type Clock = Vec<u32>;

/// Clocks of the last events on an object.
#[derive(Clone, Default)]
struct Last {
    /// Join of the clocks of all events on it.
    any: Clock,
    /// Clock of the last write.
    write: Clock,
}

fn join(into: &mut Clock, from: &Clock) {
    into.resize(into.len().max(from.len()), 0);
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

/// Object of an instruction, and whether the instruction writes it.
fn object(what: Do) -> (u8, usize, bool) {
    match what {
        Do::Read(x) => (0, x, false),
        Do::Set(x, _) | Do::Put(x, _) | Do::Add(x, _) => (0, x, true),
        Do::Lock(l) | Do::Unlock(l) | Do::Try(l, _) => (1, l, true),
        Do::Post(s) | Do::Down(s) => (2, s, true),
        other => unreachable!("{other:?} is in no family"),
    }
}

/// The number of Mazurkiewicz traces: classes of schedules that differ in the order of independent
/// events only. A class is known by the clock of each event.
fn mazurkiewicz_traces(code: &Code) -> usize {
    struct Node {
        state: State,
        /// Clocks of the events of each thread.
        clocks: Vec<Vec<Clock>>,
        last: BTreeMap<(u8, usize), Last>,
    }
    let n = code.0.len();
    let first =
        Node { state: State::new(code), clocks: vec![Vec::new(); n], last: BTreeMap::new() };
    let mut known: HashSet<Vec<Vec<Clock>>> = HashSet::new();
    let mut complete = 0;
    let mut work = vec![first];
    while let Some(mut node) = work.pop() {
        let next = successors(code, &mut node.state);
        complete += usize::from(next.is_empty());
        for (t, state) in next {
            let Some(what) = node.state.next(code, t) else { continue };
            let (kind, of, writes) = object(what);
            let mut clock = node.clocks[t].last().cloned().unwrap_or_else(|| vec![0; n]);
            clock[t] += 1;
            let mut last = node.last.clone();
            let before = last.entry((kind, of)).or_default();
            join(&mut clock, if writes { &before.any } else { &before.write });
            join(&mut before.any, &clock);
            if writes {
                before.write = clock.clone();
            }
            let mut clocks = node.clocks.clone();
            clocks[t].push(clock);
            if known.insert(clocks.clone()) {
                work.push(Node { state, clocks, last });
            }
        }
    }
    complete
}

/// Program whose threads all have this code.
fn all(n: usize, code: &[Do]) -> Code {
    Code(vec![code.to_vec(); n])
}

/// Name, most threads, and the program for a number of threads.
type Family = (&'static str, usize, fn(usize) -> Code);

fn families() -> Vec<Family> {
    use Do::{Add, Lock, Put, Read, Set, Unless, Unlock};
    vec![
        ("counter", 4, |n| all(n, &[Read(0), Put(0, 1)])),
        ("update", 5, |n| all(n, &[Add(0, 1)])),
        ("locked counter", 4, |n| all(n, &[Lock(0), Read(0), Put(0, 1), Unlock(0)])),
        ("two sections", 4, |n| {
            all(n, &[Lock(0), Read(0), Unlock(0), Lock(0), Put(0, 1), Unlock(0)])
        }),
        ("readers", 6, |n| {
            let reader = |t| if t == 0 { vec![Set(0, 1)] } else { vec![Read(0)] };
            Code((0..n).map(reader).collect())
        }),
        ("last zero", 5, |n| {
            // Thread 0 looks for the last element that is zero; thread i makes a[i] of a[i - 1].
            let mut search = Vec::new();
            for k in (1..n).rev() {
                search.extend([Read(k), Unless(0, 1), Unless(NEVER, 3 * (k - 1))]);
            }
            let fill = |i: usize| vec![Read(i - 1), Put(i, 1)];
            Code(std::iter::once(search).chain((1..n).map(fill)).collect())
        }),
        ("file system", 5, |n| {
            // Two inodes, each with a lock, and the first free one of two blocks.
            let allocate = |t: usize| {
                vec![
                    Lock(t % 2),
                    Read(t % 2),
                    Unless(0, 4),
                    Lock(2),
                    Add(2, 1),
                    Unlock(2),
                    Set(t % 2, 1),
                    Unlock(t % 2),
                ]
            };
            Code((0..n).map(allocate).collect())
        }),
        ("check then act", 4, |n| {
            all(n, &[Lock(0), Read(0), Unlock(0), Unless(0, 3), Lock(0), Add(0, 1), Unlock(0)])
        }),
        ("Dekker", 4, |n| {
            // Each pair of threads has its own flags and counter.
            let enter = |t: usize| {
                let (mine, other, counter) = (t, t ^ 1, 4 + t / 2);
                vec![Set(mine, 1), Read(other), Unless(0, 2), Read(counter), Put(counter, 1)]
            };
            Code((0..n / 2 * 2).map(enter).collect())
        }),
        ("tickets", 4, |n| {
            // A ticket each; the first one publishes a value, the others look at it.
            all(n, &[Add(0, 1), Unless(0, 2), Set(1, 1), Unless(NEVER, 1), Read(1)])
        }),
    ]
}

#[test]
fn runs_are_as_many_as_observation_classes() {
    println!("| family, threads | schedules | Mazurkiewicz traces | observation classes | runs |");
    println!("|---|---:|---:|---:|---:|");
    for (name, most, program) in families() {
        let mut sizes: Vec<usize> = (2..=most).collect();
        if name == "Dekker" {
            sizes = vec![2, 4];
        }
        for n in sizes {
            let code = program(n);
            let schedules = schedules(&code, State::new(&code), &mut HashMap::new());
            let traces = mazurkiewicz_traces(&code);
            let classes = brute(&code);
            let mut machine = Machine::new(code);
            let options = Options { runs: Some(50_000), ..Options::default() };
            let result = explore(&mut machine, &options, |_| {}).expect("a machine");
            assert!(result.is_complete(), "{name} {n}: {result:?}");
            assert_eq!(machine.shown, classes, "{name} {n}");
            let (runs, classes) = (result.runs, classes.len());
            println!("| {name}, {n} | {schedules} | {traces} | {classes} | {runs} |");
            assert_eq!(runs, classes, "{name} {n}");
            assert!(classes <= traces && (traces as u128) <= schedules, "{name} {n}");
        }
    }
}
