//! The library behind the command line: record a program, predict, replay, or all in one go.
//!
//! Each command of `foretell` that does more than print is a function here. None of them writes to
//! standard output or standard error; long ones report to an [`Observer`] or to counters
//! ([`Progress`]). Programs that a function starts (a compiler, the recorded program) write where
//! they please.
//!
//! | command | functions |
//! |---|---|
//! | `check`, `explore` | [`check`], [`Check::next_run`] |
//! | `record` | [`record`], [`save`] |
//! | `predict` | [`predict`] |
//! | `replay` | [`load_steps`], [`launch_as_recorded`], [`find`], [`replay`], [`debug`] |
//! | `verify` | [`read_findings_of`], [`verify`] |
//! | `merge` | [`merge`] |
//! | `cc`, `c++` | [`compile`] |
//! | `test` | [`run_suite`] |
//! | `doctor` | [`diagnose`] |
//!
//! # Predict on a trace
//!
//! ```
//! use std::path::Path;
//!
//! use foretell_session::{PredictOptions, predict, verify};
//!
//! let path = Path::new("two-writes.std");
//! let trace = foretell_trace::text::parse(b"T1|w(x)|a.c:1\nT2|w(x)|b.c:2\n")?.trace;
//! let findings = predict(path, &trace, &PredictOptions::default())?.findings;
//! assert_eq!(findings.findings[0].id, "race-1");
//! assert_eq!(findings.findings[0].witness.schedule, [0, 1]);
//!
//! // The independent checker accepts every witness.
//! let verdicts = verify(path, &findings, &trace, findings.trace.model)?;
//! assert!(verdicts.iter().all(Result::is_ok));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Record a program, and replay what is predicted
//!
//! ```no_run
//! use std::path::Path;
//! use std::time::Duration;
//!
//! use foretell_session::{
//!     Blocks, Launch, PredictOptions, ReplayRequest, launch_as_recorded, predict, record, replay,
//! };
//!
//! // `program` was built with `foretell cc`.
//! let recorded = record(&Launch::new(vec!["./program".into()]), &Blocks::default())?;
//! let trace = recorded.translated.trace.whole();
//! let findings = predict(Path::new("run.ft"), &trace, &PredictOptions::default())?.findings;
//! let launch = launch_as_recorded(&trace, vec!["./program".into()]);
//! for finding in &findings.findings {
//!     let request = ReplayRequest {
//!         trace: &trace,
//!         steps: &recorded.translated.steps,
//!         model: findings.trace.model,
//!         finding,
//!         launch: &launch,
//!         limit: Duration::from_secs(30),
//!     };
//!     if let Some((verdict, _)) = replay(&request, 1)?.worst() {
//!         println!("{}: {verdict}", finding.id);
//!     }
//! }
//! # Ok::<(), foretell_session::Error>(())
//! ```
//!
//! # Check sources in one go
//!
//! ```no_run
//! use foretell_session::{CheckOptions, Program, check};
//!
//! let program = Program { sources: vec!["bank.c".into()], ..Program::default() };
//! let mut check = check(CheckOptions::new(program), &mut ())?;
//! while let Some(run) = check.next_run(&mut ())? {
//!     for &i in &run.shown {
//!         println!("{:?}", run.findings.findings[i]);
//!     }
//! }
//! # Ok::<(), foretell_session::Error>(())
//! ```

mod build;
pub mod cargo;
mod check;
pub mod columns;
mod doctor;
mod document;
mod error;
mod explore;
mod failure;
mod findings;
mod kept_by_order;
mod observer;
mod pool;
mod predict;
mod record;
mod replay;
mod save;
mod suite;
mod witnesses;

pub use build::{JavaCommands, Program, ProgramKind};
pub use check::{Check, CheckOptions, CheckedRun, check};
pub use doctor::{Diagnosis, Health, diagnose};
pub use document::Watch;
pub use error::Error;
pub use explore::{ExploreOptions, Explored, Outcome};
pub use findings::{
    check_trace, merge, read_all_findings, read_findings, read_findings_of, verify, verify_all,
    verify_one,
};
pub use observer::Observer;
pub use pool::work;
pub use predict::{PredictOptions, Predicted, predict, predict_watched};
pub use record::{Recorded, RecordedProcess, record};
pub use replay::{ReplayRequest, Replayed, debug, find, launch_as_recorded, load_steps, replay};
pub use save::{save, save_trace};
pub use suite::{Bug, ProcessInfo, Suite, SuiteOptions, SuiteProgress, Test, run_suite};

pub use foretell_build::rust::Wrapper as RustWrapper;
pub use foretell_build::{Language, compile, shell_status};
pub use foretell_explore::{Exploration, Open};
pub use foretell_launch::{Java, Launch, Mode, Run, SignalGuard, supervise};
pub use foretell_predict::driver::{Options as DriverOptions, Prediction, Progress};
pub use foretell_replay::Verdict;
pub use foretell_rt_format::EXIT_STEPS;
pub use foretell_translate::{Blocks, Glob, Steps, TraceOutput, Translated};
