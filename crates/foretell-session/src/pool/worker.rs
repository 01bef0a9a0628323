//! The worker of a pool: does work items, one after the other.
//!
//! | from | line | meaning |
//! |---|---|---|
//! | pool | `{"job": {…}, "version": "…", "copies": {…}}` | first line: the job of the session, its version, and where copies of its files are, by path |
//! | worker | `{"ready": true}` or `{"error": "…"}` | |
//! | pool | `{"item": {…}, "copies": {…}, "place": "…", "memory": …}` | a work item, further copies, a directory for the files of the result, and the memory that its program may use |
//! | worker | `{"answer": {…}}` or `{"error": "…"}` | with `"last": true` the worker ends: it was short of time or memory, and work that was left behind still has some of it |
//!
//! | item | does | answer |
//! |---|---|---|
//! | `{"run": SCHEDULE}` | runs the program along the schedule | `{}`; the directory has the result as in the state directory of an exploration |
//!
//! The module of suites has further items.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use foretell_build::ScratchDirectory;
use foretell_launch::Launch;
use serde_json::{Value, json};

use super::Job;
use crate::Error;
use crate::explore::run_to_directory;
use crate::suite::{do_predict, do_replay};

/// Reads a job and work items from `input`, one a line, does them, and writes the answers to
/// `output`. Returns at the end of the input.
///
/// # Errors
/// If an answer cannot be written.
pub fn work(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut job = None;
    for line in input.lines() {
        let answer = match serde_json::from_str::<Value>(&line?) {
            Err(error) => Err(error.to_string()),
            Ok(line) => match &job {
                None => begin(&line).map(|begun| {
                    job = Some(begun);
                    json!({"ready": true})
                }),
                Some(job) => item(job, &line).map(|answer| json!({"answer": answer})),
            },
        };
        let mut answer = answer.unwrap_or_else(|error| json!({"error": error}));
        let is_last = answer["answer"]["cut_short"] == true;
        if is_last {
            answer["last"] = true.into();
        }
        writeln!(output, "{answer}")?;
        output.flush()?;
        if is_last {
            break;
        }
    }
    Ok(())
}

fn begin(line: &Value) -> Result<Job, String> {
    let (own, theirs) = (env!("CARGO_PKG_VERSION"), line["version"].as_str().unwrap_or_default());
    if own != theirs {
        return Err(format!("the worker has foretell {own}, the session {theirs}"));
    }
    Job::from_json(&line["job"], &copies(&line["copies"])).ok_or_else(|| "not a job".to_owned())
}

fn copies(value: &Value) -> BTreeMap<PathBuf, PathBuf> {
    let entries = value.as_object().into_iter().flatten();
    entries.filter_map(|(from, to)| Some((from.into(), to.as_str()?.into()))).collect()
}

fn item(job: &Job, line: &Value) -> Result<Value, String> {
    let item = &line["item"];
    let copies = copies(&line["copies"]);
    let of_suite = do_predict(item, &copies).or_else(|| do_replay(job, item, &copies));
    if let Some(answer) = of_suite {
        return Ok(answer);
    }
    let place = line["place"].as_str().map(Path::new);
    let done = match (item["run"].as_str(), place) {
        (Some(schedule), Some(place)) => run(job, schedule, place, line["memory"].as_u64()),
        _ => return Err("not a work item".to_owned()),
    };
    done.map_err(|error| error.to_string())
}

fn run(job: &Job, schedule: &str, place: &Path, memory: Option<u64>) -> Result<Value, Error> {
    let parent = std::env::temp_dir();
    // As long as the name of the session's own directory: names are in the environment, and so
    // on the stack of the program.
    let scratch =
        ScratchDirectory::new_in(&parent, "foretell-check-").map_err(Error::file(&parent))?;
    let directory = scratch.path().to_path_buf();
    let launch = Launch { directory, memory, ..job.launch.clone() };
    if !run_to_directory(&launch, &job.blocks, schedule, place)? {
        return Err(Error::Unsupported("interrupted".to_owned()));
    }
    Ok(json!({}))
}

#[cfg(test)]
mod tests {
    use foretell_translate::Blocks;

    use super::*;

    fn answers(lines: &[Value]) -> Vec<Value> {
        let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let mut output = Vec::new();
        work(input.as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        output.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn other_versions_and_wrong_lines_are_errors() {
        let job = Job::new(&Launch::new(vec!["/no/such".into()]), &Blocks::default());
        let job = |version: &str| json!({"job": job.to_json().unwrap(), "version": version});
        let own = env!("CARGO_PKG_VERSION");
        let place = tempfile::tempdir().unwrap();
        let run = json!({"item": {"run": "foretell-schedule 2\n"}, "place": place.path()});
        let read =
            answers(&[job("0.0.0"), json!({"version": own}), job(own), json!({"item": {}}), run]);
        let expected = ["the session 0.0.0", "not a job", "", "not a work item", "/no/such"];
        for (answer, expected) in read.iter().zip(expected) {
            match answer["error"].as_str() {
                Some(error) if !expected.is_empty() => {
                    assert!(error.contains(expected), "{error}");
                }
                error => assert_eq!((error, answer["ready"].as_bool()), (None, Some(true))),
            }
        }
        assert_eq!(read.len(), 5);
    }
}
