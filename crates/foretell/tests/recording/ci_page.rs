//! The recipes of `docs/ci.md`, executed as they are printed.

use std::fs;
use std::path::Path;

use crate::workshop::{FORETELL, Workshop, stderr, stdout};

/// A step of a workflow that runs a command.
struct Step {
    command: String,
    /// Whether the workflow goes on if it fails.
    may_fail: bool,
}

/// Returns the commands of all workflows on the page, in their order.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for block in page.split("```yaml\n").skip(1) {
        let block = block.split("```").next().expect("an end");
        let mut folded = false;
        for line in block.lines() {
            let text = line.trim();
            if let Some(command) = text.strip_prefix("- run: ") {
                folded = command == ">";
                let command = if folded { String::new() } else { command.to_owned() };
                steps.push(Step { command, may_fail: false });
            } else if text == "continue-on-error: true" {
                folded = false;
                steps.last_mut().expect("a step").may_fail = true;
            } else if text.starts_with("- ") {
                folded = false;
            } else if folded {
                let command = &mut steps.last_mut().expect("a step").command;
                *command = format!("{command} {text}").trim().to_owned();
            }
        }
    }
    steps
}

#[test]
fn recipes_of_the_page_work_as_printed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci.md");
    let steps = steps(&fs::read_to_string(page).expect("the page"));
    assert!(steps.len() > 10, "{}", steps.len());
    let w = Workshop::new();
    w.write(
        "test-program.c",
        "#include <pthread.h>\nint x;\nstatic void *f(void *a) { x = 1; return a; }\n\
         int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x = 2; pthread_join(t, 0); }\n",
    );
    let bin = FORETELL.rsplit_once('/').expect("a directory").0;
    for step in steps {
        // The command is there; the rest of the step is tested with the installation.
        if step.command.starts_with("cargo install ") {
            continue;
        }
        let parts: &[&str] =
            if step.command.contains("matrix.part") { &["1", "2", "3", "4"] } else { &[""] };
        for part in parts {
            let command = step.command.replace("${{ matrix.part }}", part);
            let ran = w.run("bash", &["-c", &format!("PATH={bin}:$PATH\n{command}")]);
            let said = format!("{command}\n{}{}", stdout(&ran), stderr(&ran));
            let status = ran.status.code().expect("a status");
            assert!(status == 0 || step.may_fail && status == 1, "status {status}: {said}");
        }
    }
    for file in ["foretell.sarif", "foretell.html", "foretell.xml", "suite.sarif", "main.json"] {
        assert!(fs::metadata(w.path(file)).is_ok_and(|f| f.len() > 0), "{file}");
    }
    // The last steps verified what the first ones found.
    assert!(fs::read_to_string(w.path("foretell.json")).expect("findings").contains("race-1"));
}
