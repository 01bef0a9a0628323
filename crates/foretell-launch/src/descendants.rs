//! Processes that a program has started.

use std::collections::HashMap;

/// Returns the living descendants of a process, parents first.
pub(crate) fn descendants(process: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(parent) = parent(id) {
            children.entry(parent).or_default().push(id);
        }
    }
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&process) = found.get(next) {
        next += 1;
        found.extend(children.remove(&process).into_iter().flatten());
    }
    found.remove(0);
    found
}

/// Returns the parent of a process.
fn parent(process: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // `pid (name) state parent …`; the name may have parentheses.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Kills processes.
pub(crate) fn kill(processes: &[u32]) {
    for &process in processes {
        // SAFETY: plain system call.
        unsafe { libc::kill(process as i32, libc::SIGKILL) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_below_a_process_are_found() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "sleep 60 & echo; wait"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut line).unwrap();
        let found = descendants(shell.id());
        assert_eq!(found.len(), 1, "{found:?}");
        kill(&found);
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(descendants(shell.id()).is_empty());
    }
}
