//! No trace and no schedule makes the checker panic, however illegal; and what it accepts is closed
//! under prefixes.

mod common;

use common::trace;
use foretell_trace::{EventId, Model, NondeterminismForm, VarId};
use foretell_verify::{Checker, Pattern};
use proptest::prelude::*;

const WORDS: [&str; 30] = [
    "r(x)",
    "r(x=1)",
    "w(x=1)",
    "w(x=2)",
    "au(x=1>2)",
    "ar(y)",
    "aw(y)",
    "w(o)",
    "acq(m)",
    "rel(m)",
    "racq(m)",
    "rrel(m)",
    "tryfail(m)",
    "tryacq(m)",
    "rtryacq(m)",
    "wait(c,m)",
    "woken(c,m)",
    "timedout(c,m)",
    "notify(c)",
    "notifyall(c)",
    "post(s)",
    "down(s)",
    "arrive(b)",
    "leave(b)",
    "fork(2)",
    "join(2)",
    "begin",
    "end",
    "r(x=1)->a",
    "guard[(=~%a~1)]",
];

fn patterns(e: &[u32]) -> Vec<Pattern> {
    let ids: Vec<EventId> = e.iter().map(|&i| EventId(i)).collect();
    let mut all = vec![
        Pattern::Race { a: ids[0], b: ids[1] },
        Pattern::Atomicity { c: ids[0], r: ids[1], c2: ids[2] },
        Pattern::FinalValue { var: VarId(e[0]), writer: ids[1], challenger: ids[2] },
        Pattern::Deadlock { acquires: ids.clone() },
        Pattern::Deadlock { acquires: Vec::new() },
        Pattern::Hang { blocked: ids.clone() },
        Pattern::Hang { blocked: Vec::new() },
        Pattern::Lifetime { free: ids[0], used: ids[1] },
    ];
    for end in [None, Some(ids[1])] {
        all.push(Pattern::Serializability { begin: ids[0], end, path: ids[2..].to_vec() });
        all.push(Pattern::Transactions { begin: ids[0], end, cycle: ids[2..].to_vec() });
        for form in [
            NondeterminismForm::AfterWriter,
            NondeterminismForm::BeforeWriter,
            NondeterminismForm::WriterAbsent,
        ] {
            let (read, challenger) = (ids[0], Some(ids[2]));
            all.push(Pattern::NondeterministicRead { read, writer: end, challenger, form });
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn anything_goes_in_and_nothing_panics(
        events in prop::collection::vec((1..4u32, prop::sample::select(&WORDS[..])), 0..16),
        schedule in prop::collection::vec(0..18u32, 0..16),
        named in prop::collection::vec(0..18u32, 5),
    ) {
        let text: String = events.iter().map(|(t, word)| format!(" {t}:{word}")).collect();
        let trace = trace(&format!("opaque(o) barrier(b=2) sem(s=1) {text}"));
        let sorted = (0..trace.len() as u32).collect::<Vec<u32>>();
        for model in [Model::View, Model::Value, Model::Symbolic] {
            let checker = Checker::new(&trace, model);
            for schedule in [&schedule, &sorted] {
                let schedule: Vec<EventId> = schedule.iter().map(|&e| EventId(e)).collect();
                let verdict = checker.feasible(&schedule);
                if let Err(refusal) = &verdict {
                    prop_assert!(!refusal.to_string().contains('\n'));
                    let step = refusal.step.expect("a step");
                    prop_assert!(checker.feasible(&schedule[..step]).is_ok());
                }
                for n in 0..schedule.len() {
                    prop_assert!(verdict.is_err() || checker.feasible(&schedule[..n]).is_ok());
                }
                for pattern in patterns(&named) {
                    let _ = checker.verify(&pattern, &schedule);
                }
            }
        }
    }
}
