//! Each target: every file of its corpus, and a fixed number of inputs.

use foretell_fuzz::{Context, Target, corpus};

/// Inputs of each target; the program `foretell-fuzz` runs more.
const INPUTS: u64 = 1500;

fn runs(target: Target) {
    let context = Context::new(target);
    for (name, bytes) in corpus(target.name()) {
        eprintln!("{target}: {name}");
        context.run(&bytes);
    }
    for input in 0..INPUTS {
        eprintln!("{target}: input {input}");
        context.run(&context.input(0, input));
    }
}

#[test]
fn text() {
    runs(Target::Text);
}

#[test]
fn binary() {
    runs(Target::Binary);
}

#[test]
fn findings() {
    runs(Target::Findings);
}

#[test]
fn suppressions() {
    runs(Target::Suppressions);
}

#[test]
fn schedule() {
    runs(Target::Schedule);
}

#[test]
fn steps() {
    runs(Target::Steps);
}

#[test]
fn log() {
    runs(Target::Log);
}

#[test]
fn java_log() {
    runs(Target::JavaLog);
}
