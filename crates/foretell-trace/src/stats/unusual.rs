//! Unusual features of a trace, for a first look at it.

use super::Stats;
use super::count::{Counts, Thread};
use crate::{ThreadId, Trace, VarId};

/// Number of names in a sentence.
const NAMES: usize = 3;

pub(super) fn sentences(trace: &Trace, counts: &Counts, stats: &Stats) -> Vec<String> {
    let mut out = Vec::new();
    if trace.is_empty() {
        return vec!["There are no events.".to_owned()];
    }
    let running = counts.threads.iter().filter(|t| t.events).count();
    if running == 1 {
        out.push("Only one thread has events: there is no other interleaving.".to_owned());
    } else if stats.shared_variables == 0 {
        out.push("No variable is accessed by more than one thread.".to_owned());
    }
    threads(trace, counts, &mut out);
    let names = counts.private_locks().map(|l| trace.lock_name(l));
    say(&mut out, names, "lock is", "locks are", "taken by one thread only");
    let names = counts.never_written().map(|v| trace.variable_name(v));
    say(&mut out, names, "variable is", "variables are", "read and never written");
    let variables = (0..trace.variable_count()).map(VarId::from_index);
    let names = variables.filter(|&v| trace.is_opaque(v)).map(|v| trace.variable_name(v));
    let what = "opaque (also written by code that was not recorded) and in no finding";
    say(&mut out, names, "variable is", "variables are", what);
    let number = |n: u64, one: &str, many: &str, rest: &str| match n {
        0 => None,
        1 => Some(format!("1 {one} {rest}.")),
        n => Some(format!("{n} {many} {rest}.")),
    };
    let found = "found a lock that it could have taken";
    out.extend(number(counts.needless_try_fails, "failed try-lock", "failed try-locks", found));
    out.extend(number(counts.lost_notifies, "notify", "notifies", "found no waiting thread"));
    out.extend(number(stats.blocks.open, "block is", "blocks are", "open at the end"));
    out.extend(number(stats.locks_held.len() as u64, "lock is", "locks are", "held at the end"));
    out.extend(number(stats.waiting.len() as u64, "thread", "threads", "in a wait at the end"));
    if stats.values_known_percent > 0.0 && stats.values_known_percent < 100.0 {
        let percent = 100.0 - stats.values_known_percent;
        out.push(format!("{percent:.1} % of the accesses lack a value."));
    }
    out
}

/// Threads whose beginning or end is not in the trace. The first to run is taken as the main one.
fn threads(trace: &Trace, counts: &Counts, out: &mut Vec<String>) {
    let main = trace.threads.first().copied();
    let those = |wanted: fn(&Thread) -> bool| {
        let all = counts.threads.iter().enumerate().filter(move |(_, t)| wanted(t));
        all.map(|(i, _)| ThreadId::from_index(i)).filter(move |&t| Some(t) != main)
    };
    let names = those(|t| t.events && !t.forked).map(|t| trace.display_name(t));
    say(out, names, "thread is", "threads are", "never forked and may start at any time");
    let names = those(|t| t.events && t.forked && !t.joined).map(|t| trace.display_name(t));
    say(out, names, "thread is", "threads are", "forked and never joined");
    let names = those(|t| !t.events).map(|t| trace.display_name(t));
    say(out, names, "thread has", "threads have", "no events");
}

/// "2 locks are taken by one thread only: a, b."
fn say<'a>(
    out: &mut Vec<String>,
    mut names: impl Iterator<Item = &'a str>,
    one: &str,
    many: &str,
    what: &str,
) {
    let shown: Vec<&str> = names.by_ref().take(NAMES).collect();
    let more = names.count();
    let list = shown.join(", ");
    match (shown.len(), more) {
        (0, _) => {}
        (1, _) => out.push(format!("1 {one} {what}: {list}.")),
        (n, 0) => out.push(format!("{n} {many} {what}: {list}.")),
        (n, more) => out.push(format!("{} {many} {what}: {list} and {more} more.", n + more)),
    }
}
