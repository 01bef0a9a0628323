//! What the work items of a session have in common, for a worker on another machine.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use foretell_launch::{Java, Launch};
use foretell_translate::{Blocks, Glob};
use serde_json::{Value, json};

use crate::Error;

/// Settings of the runs.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) launch: Launch,
    pub(crate) blocks: Blocks,
}

impl Job {
    pub(crate) fn new(launch: &Launch, blocks: &Blocks) -> Job {
        Job { launch: launch.clone(), blocks: blocks.clone() }
    }

    /// Returns the job as JSON: all that a worker needs, without the places of this machine.
    pub(crate) fn to_json(&self) -> Result<Value, Error> {
        let Job { launch, blocks } = self;
        let Java { include, exclude, atomic, annotations, resources, resource_annotations } =
            &launch.java;
        let functions: Vec<String> = blocks.functions.iter().map(Glob::to_string).collect();
        let command: Vec<&str> =
            launch.command.iter().map(|word| text(word)).collect::<Result<_, _>>()?;
        let input = launch.input.as_ref().map(|path| text(path.as_os_str())).transpose()?;
        Ok(json!({
            "command": command,
            "program": program(launch),
            "seed": launch.seed,
            "quantum": launch.quantum,
            "exit_steps": launch.exit_steps,
            "input": input,
            "limit_ms": launch.limit.map(|limit| limit.as_millis() as u64),
            "keep_all": launch.keep_all,
            "java": {
                "include": include, "exclude": exclude, "atomic": atomic,
                "annotations": annotations, "resources": resources,
                "resource_annotations": resource_annotations,
            },
            "blocks": {
                "markers": blocks.markers, "locks": blocks.locks, "functions": functions,
                "atomic_volatile": blocks.atomic_volatile,
            },
        }))
    }

    /// Reads a job. `copies` are the files of the job that have other paths on this machine.
    /// `None`: not a job.
    pub(crate) fn from_json(value: &Value, copies: &BTreeMap<PathBuf, PathBuf>) -> Option<Job> {
        let list = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let command = list(&value["command"])?;
        let (java, blocks) = (&value["java"], &value["blocks"]);
        let java = Java {
            include: list(&java["include"])?,
            exclude: list(&java["exclude"])?,
            atomic: list(&java["atomic"])?,
            annotations: list(&java["annotations"])?,
            resources: list(&java["resources"])?,
            resource_annotations: list(&java["resource_annotations"])?,
        };
        let blocks = Blocks {
            markers: blocks["markers"].as_bool()?,
            locks: blocks["locks"].as_bool()?,
            functions: list(&blocks["functions"])?.iter().map(|glob| Glob::new(glob)).collect(),
            atomic_volatile: blocks["atomic_volatile"].as_bool()?,
        };
        // Logs and schedules name the program by its true path, the command as it was given.
        let mut pairs: Vec<(PathBuf, PathBuf)> =
            copies.iter().map(|(from, to)| (from.clone(), to.clone())).collect();
        if let (Some(program), Some(name)) = (value["program"].as_str(), command.first())
            && let Some(copy) = copies.get(Path::new(program))
        {
            pairs.push((name.into(), copy.clone()));
        }
        let launch = Launch {
            seed: value["seed"].as_u64()?,
            quantum: value["quantum"].as_u64()?,
            exit_steps: value["exit_steps"].as_u64()?,
            input: value["input"].as_str().map(PathBuf::from),
            limit: value["limit_ms"].as_u64().map(Duration::from_millis),
            keep_all: value["keep_all"].as_bool()?,
            quiet: true,
            java,
            copies: pairs,
            ..Launch::new(command.into_iter().map(OsString::from).collect())
        };
        Some(Job { launch, blocks })
    }
}

/// Returns the files and directories of a command that a worker needs: the program, its input, and
/// for Java the parts of the class path.
pub(crate) fn files_of(launch: &Launch) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = program(launch).into_iter().collect();
    files.extend(launch.input.clone());
    if launch.is_java() {
        for word in launch.command.iter().skip(1) {
            files.extend(std::env::split_paths(word).filter(|part| part.exists()));
        }
    }
    files
}

/// Returns the true path of a native program that the command names by its path.
pub(crate) fn program(launch: &Launch) -> Option<PathBuf> {
    let name = launch.command.first().map(Path::new).filter(|_| !launch.is_java())?;
    let directory = launch.working_directory.clone().unwrap_or_default();
    // A bare name is looked for on PATH.
    let is_path = name.components().count() > 1;
    is_path.then(|| directory.join(name).canonicalize().ok()).flatten()
}

/// Returns a word of a command as text, which lines of a pool are made of.
pub(crate) fn text(word: &std::ffi::OsStr) -> Result<&str, Error> {
    word.to_str().ok_or_else(|| {
        Error::Unsupported(format!("{}: not UTF-8, which a pool needs", word.to_string_lossy()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_survives_the_way() {
        let mut launch = Launch::new(vec!["./a".into(), "b".into()]);
        (launch.seed, launch.keep_all, launch.quiet) = (7, true, true);
        launch.limit = Some(Duration::from_millis(2500));
        launch.java.include.push("x.*".to_owned());
        let blocks = Blocks { functions: vec![Glob::new("f*")], ..Blocks::default() };
        let job = Job::new(&launch, &blocks);
        let read = Job::from_json(&job.to_json().unwrap(), &BTreeMap::new()).unwrap();
        assert_eq!(format!("{:?}", read.launch), format!("{launch:?}"));
        assert_eq!(format!("{:?}", read.blocks), format!("{blocks:?}"));
        assert!(Job::from_json(&json!({"command": []}), &BTreeMap::new()).is_none());
    }

    #[test]
    fn copy_of_a_program_runs_under_both_names() {
        let mut value = Job::new(&Launch::new(vec!["./a".into()]), &Blocks::default());
        value.launch.input = Some("in".into());
        let mut value = value.to_json().unwrap();
        value["program"] = json!("/p/a");
        let copies =
            BTreeMap::from([("/p/a".into(), "/c/a".into()), ("in".into(), "/c/in".into())]);
        let launch = Job::from_json(&value, &copies).unwrap().launch;
        for (name, here) in [("./a", "/c/a"), ("/p/a", "/c/a"), ("in", "/c/in"), ("b", "b")] {
            assert_eq!(launch.here(Path::new(name)), Path::new(here));
        }
    }
}
