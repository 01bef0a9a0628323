//! Every number on a trace small enough to count by hand, and the pairs against all pairs.

use super::*;
use crate::{EventId, text};

fn stats(text: &str) -> Stats {
    let trace = text::parse(text.as_bytes()).unwrap().trace;
    assert_eq!(crate::legality::check(&trace), Ok(()));
    let stats = Stats::of(&trace);
    assert_eq!(stats.model, Model::auto(&trace));
    let (conflicting, atomic) = pairs_one_by_one(&trace);
    assert_eq!((stats.conflicting_pairs, stats.atomic_conflicting_pairs), (conflicting, atomic));
    stats
}

fn pairs_one_by_one(trace: &Trace) -> (u64, u64) {
    let (mut conflicting, mut atomic) = (0, 0);
    for a in trace.ids() {
        for b in (a.0 + 1..trace.len() as u32).map(EventId) {
            let (p, q) = (trace.op(a), trace.op(b));
            if trace.thread(a) != trace.thread(b)
                && trace.variable(a).is_some()
                && trace.variable(a) == trace.variable(b)
                && (p.writes() || q.writes())
            {
                conflicting += 1;
                atomic += u64::from(p.is_atomic() && q.is_atomic());
            }
        }
    }
    (conflicting, atomic)
}

const PROGRAM: &str = "\
#! init x=0
#! meta ended=signal 11
M|w(x=1)
M|fork(A)
M|fork(B)
A|begin
A|acq(l)
A|r(x=1)
A|begin
A|w(x=2)
A|end
A|wait(c,l)
B|acq(l)
B|r(x=2)
B|notify(c)
B|notify(c)
B|rel(l)
A|woken(c,l)
A|au(n=0>1)
B|au(n=1>2)
B|ar(n=2)
M|r(n)
M|r(z)
B|tryfail(m)
B|racq(k)
A|r(x=2)
M|join(B)
";

#[test]
fn everything_is_counted() {
    let stats = stats(&PROGRAM.replace("M|join(B)\n", ""));
    assert_eq!((stats.threads, stats.events), (3, 24));
    assert_eq!(stats.events_by_kind["r"], 5);
    assert_eq!(stats.events_by_kind.values().sum::<u64>(), 24);
    assert_eq!((stats.variables, stats.shared_variables, stats.local_variables), (3, 2, 1));
    assert_eq!((stats.locks, stats.conditions), (3, 1));
    assert_eq!(stats.blocks, Blocks { total: 2, outermost: 1, deepest: 2, open: 1 });
    // x: A reads M's, B reads A's, A reads its own; n: A initial, B reads A's, B and M read B's.
    assert_eq!(stats.couples, ReadsFromCounts { inter: 4, intra: 2, initial: 2 });
    assert_eq!(stats.inter_thread_edges, 4 + 2 + 1);
    assert!((stats.coupling - 7.0 / 24.0).abs() < 1e-9);
    let held = |lock: &str, thread: &str, shared| Held {
        lock: lock.to_owned(),
        thread: thread.to_owned(),
        shared,
    };
    assert_eq!(stats.locks_held, [held("l", "A", false), held("k", "B", true)]);
    assert!(stats.waiting.is_empty());
    assert_eq!(stats.model, Model::Value);
    assert_eq!(stats.ended.as_deref(), Some("signal 11"));
    assert!((stats.values_known_percent - 800.0 / 10.0).abs() < 1e-9);
}

#[test]
fn unusual_features_are_reported() {
    let stats = stats(&PROGRAM.replace("M|join(B)\n", ""));
    let expected = [
        "2 threads are forked and never joined: A, B.",
        "1 lock is taken by one thread only: k.",
        "1 variable is read and never written: z.",
        "1 failed try-lock found a lock that it could have taken.",
        "1 notify found no waiting thread.",
        "1 block is open at the end.",
        "2 locks are held at the end.",
        "20.0 % of the accesses lack a value.",
    ];
    assert_eq!(stats.unusual, expected);
}

#[test]
fn few_threads_and_little_sharing_are_unusual() {
    let said = |text: &str| stats(text).unusual;
    assert_eq!(said(""), ["There are no events."]);
    let alone = "Only one thread has events: there is no other interleaving.";
    assert_eq!(said("T|w(x)\nT|acq(l)\nT|wait(c,l)\n")[0], alone);
    assert!(said("T|acq(l)\nT|wait(c,l)\n").contains(&"1 thread in a wait at the end.".to_owned()));
    let apart = said("T|w(x)\nU|w(y)\nV|w(z)\nW|w(a)\nX|w(b)\n");
    let unforked = "4 threads are never forked and may start at any time: U, V, W and 1 more.";
    assert_eq!(apart, ["No variable is accessed by more than one thread.", unforked]);
    let opaque = said("#! opaque x\nT|w(x)\nU|w(x)\n");
    assert!(opaque[1].starts_with("1 variable is opaque") && opaque[1].ends_with(": x."));
}

#[test]
fn symbolic_traces_take_the_symbolic_model() {
    assert_eq!(stats("T|r(x=0)->%1\nT|guard((= %1 0))\n").model, Model::Symbolic);
    assert_eq!(stats("T|r(x)\n").model, Model::View);
    assert_eq!(stats("T|au(x=0>1)->%1<-(+ %1 1)\n").model, Model::Symbolic);
}

#[test]
fn people_and_programs_can_read_it() {
    let stats = stats("T|w(x=1)\nU|r(x=1)\n");
    let text = stats.to_string();
    assert!(text.starts_with("events                2\n  r                   1\n"), "{text}");
    assert!(text.contains("conflicting pairs     1 (0 atomic)\n"), "{text}");
    assert!(text.contains("coupling              0.500 (1 edges between threads)\n"), "{text}");
    let json = serde_json::to_value(&stats).unwrap();
    assert_eq!(json["events_by_kind"]["w"], 1);
    assert_eq!(json["model"], "value");
    assert_eq!(json["couples"]["inter"], 1);
}

#[test]
fn kept_order_is_told() {
    let stats = stats(
        "#! meta kept calls libstdc++.so.6=214; 120 std::string::_M_assign; 60 f<a, b>; 30 g; 4 h\n\
         #! meta kept calls libglib-2.0.so.0=3; 3 g_list_append\n\
         #! meta kept waits=2\n\
         #! meta kept first uses=5\n\
         #! meta kept unexplained reads=1\n\
         #! meta kept nonsense=x\n\
         A|w(x=1)\n",
    );
    let text = "214 calls of libstdc++.so.6 (std::string::_M_assign 120, f<a, b> 60, g 30, …), \
                3 of libglib-2.0.so.0 (g_list_append 3); 2 waits that are not modelled; \
                5 first uses of memory without a visible reference; 1 read that nothing explains";
    assert_eq!(stats.order_kept.to_string(), text);
    assert!(stats.to_string().contains(&format!("order kept            {text}\n")));
    let json = serde_json::to_string(&stats.order_kept).unwrap();
    assert!(json.contains(r#"{"library":"libglib-2.0.so.0","calls":3,"functions":["#), "{json}");
}
