//! `BINARY --foretell-one NAME`: one test on the main thread, and nothing else in the process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;

use crate::test_result::{TestResult, calc_result};
use crate::types::{StaticBenchAsTestFn, StaticBenchFn, StaticTestFn};
use crate::{TestDescAndFn, bench};

/// Option that `cargo foretell` looks for in a binary, to tell it from one with its own harness.
const OPTION: &str = "--foretell-one";

/// Runs the test that the arguments name, if they name one, and ends the process: status 0 if it
/// passes, 101 if it fails, 2 if there is none.
pub(crate) fn run_if_asked(args: &[String], tests: &[&TestDescAndFn]) {
    let [_, option, name] = args else { return };
    if option != OPTION {
        return;
    }
    let Some(test) = tests.iter().find(|test| test.desc.name.as_slice() == name) else {
        eprintln!("there is no test {name}");
        process::exit(2);
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| match &test.testfn {
        StaticTestFn(function) => function(),
        StaticBenchFn(function) | StaticBenchAsTestFn(function) => bench::run_once(|b| function(b)),
        _ => Err("not a static test".to_owned()),
    }));
    let result = match outcome {
        Ok(Ok(())) => calc_result(&test.desc, None, None, None),
        Ok(Err(message)) => TestResult::TrFailedMsg(message),
        Err(payload) => calc_result(&test.desc, Some(&*payload), None, None),
    };
    let status = match result {
        TestResult::TrOk => 0,
        TestResult::TrFailedMsg(message) => {
            eprintln!("{message}");
            101
        }
        _ => 101,
    };
    process::exit(status)
}
