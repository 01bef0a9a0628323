//! Exploration against the brute-force enumeration of all schedules.

mod economy;
mod machine;

use foretell_explore::{Options, explore};
use machine::{Code, Do, Machine, brute, counts, random};

/// Explores a program and compares with the enumeration. Returns the runs and the redundant ones.
fn compare(code: Code, what: &str) -> (usize, usize) {
    let expected = brute(&code);
    let mut machine = Machine::new(code.clone());
    let options = Options { runs: Some(20_000), ..Options::default() };
    let result = explore(&mut machine, &options, |_| {}).unwrap();
    assert!(result.is_complete(), "{what}: {result:?}\n{:?}\n{code:?}", machine.departed);
    let missing: Vec<_> = expected.difference(&machine.shown).collect();
    let extra: Vec<_> = machine.shown.difference(&expected).collect();
    assert!(
        missing.is_empty() && extra.is_empty(),
        "{what}: {:?} expected, {:?} shown; missing {missing:?}, extra {extra:?}\n{code:?}",
        counts(&expected),
        counts(&machine.shown),
    );
    (result.runs, result.redundant)
}

/// Compares random programs. At most `most_redundant` of 1000 runs may repeat another one.
fn family(flavour: usize, programs: u64, most_redundant: usize) {
    let (mut runs, mut redundant) = (0_usize, 0_usize);
    for seed in 0..programs {
        let (r, d) = compare(random(seed, flavour), &format!("flavour {flavour}, seed {seed}"));
        runs += r;
        redundant += d;
    }
    println!("flavour {flavour}: {programs} programs, {runs} runs, {redundant} redundant");
    assert!(redundant * 1000 <= runs * most_redundant, "{redundant} of {runs} runs are redundant");
}

#[test]
fn reads_and_writes() {
    family(0, 1000, 1);
}

#[test]
fn with_locks() {
    family(1, 800, 2);
}

#[test]
fn with_try_locks() {
    family(2, 400, 1);
}

#[test]
fn with_semaphores_and_conditions() {
    family(3, 1500, 1);
}

#[test]
fn with_waits_that_time_out() {
    family(4, 1000, 25);
}

#[test]
fn lost_update_in_two_sections_takes_few_runs() {
    use Do::{Lock, Put, Read, Unlock};
    let thread = vec![Lock(0), Read(0), Unlock(0), Lock(0), Put(0, 1), Unlock(0)];
    let (runs, redundant) = compare(Code(vec![thread.clone(), thread]), "lost update");
    assert_eq!((runs, redundant), (3, 0));
}

#[test]
fn peterson_is_complete() {
    // want[i] = x0, x1; turn = x2; the counter is x3. The wait for the other is a spin on turn.
    use Do::{Add, BackUnless, Put, Read, Set};
    let thread = |i: usize| {
        let other = 1 - i;
        vec![Set(i, 1), Set(2, other as i64), Read(2), BackUnless(i as i64, 1), Read(3), Put(3, 1)]
    };
    let mut first = thread(0);
    let mut second = thread(1);
    // So that the second to come does not wait for ever.
    first.push(Set(2, 1));
    second.push(Set(2, 0));
    first.push(Add(0, -1));
    second.push(Add(1, -1));
    compare(Code(vec![first, second]), "Peterson");
}
