use foretell_trace::Model;

use super::*;
use crate::TraceModel;
use crate::testing::{ids, trace};

#[test]
fn any_guess_leads_to_the_partition_point() {
    let list: Vec<u32> = (0..20).collect();
    for length in 0..list.len() {
        for guess in 0..=length + 1 {
            for bound in 0..=length as u32 {
                let found = partition_near(&list[..length], guess, |&x| x < bound);
                assert_eq!(found, bound as usize, "{length} {guess}");
            }
        }
    }
}

/// All pairs of events of different threads that are ordered.
fn ordered(trace: &Trace, model: Model) -> Vec<(u32, u32)> {
    let TraceModel { chains, must_happen_before, .. } = TraceModel::new(trace, model);
    let pairs = trace.ids().flat_map(|a| trace.ids().map(move |b| (a, b)));
    pairs
        .filter(|&(a, b)| trace.thread(a) != trace.thread(b))
        .filter(|&(a, b)| must_happen_before.ordered_before(&chains, trace, a, b))
        .map(|(a, b)| (a.0, b.0))
        .collect()
}

/// Nothing orders the read itself: it may run and be broken. What comes after it is ordered.
#[test]
fn events_after_a_read_follow_its_writer() {
    let trace = trace("T1|w(x)\nT2|r(x)\nT2|w(y)");
    assert_eq!(ordered(&trace, Model::View), [(0, 2)]);
}

#[test]
fn several_writers_order_only_what_all_of_them_need() {
    let text = "T0|w(y=0)
         T0|fork(T1)
         T0|fork(T2)
         T1|w(x=1)
         T2|w(x=1)
         T3|r(x=1)
         T3|w(z=0)";
    let trace = trace(text);
    let behind_the_read = |model| {
        let ordered = ordered(&trace, model);
        ordered.into_iter().filter(|p| p.1 == 6).map(|p| p.0).collect::<Vec<_>>()
    };
    assert_eq!(behind_the_read(Model::View), [0, 1, 2, 4]);
    assert_eq!(behind_the_read(Model::Value), [0, 1]);
}

/// `first_after` is where `ordered_before` begins.
#[test]
fn first_events_after_an_event() {
    let trace = trace(
        "T0|w(x)
         T0|fork(T1)
         T1|acq(l)
         T1|w(y)
         T1|rel(l)
         T0|acq(l)
         T0|r(y)
         T0|w(z)
         T0|rel(l)
         T0|join(T1)",
    );
    let TraceModel { chains, must_happen_before, .. } = TraceModel::new(&trace, Model::View);
    for e in trace.ids() {
        for t in (0..trace.thread_count()).map(ThreadId::from_index) {
            let first = chains
                .events(t)
                .iter()
                .find(|&&f| f == e || must_happen_before.ordered_before(&chains, &trace, e, f));
            let first = first.map(|&f| chains.position(f));
            assert_eq!(must_happen_before.first_after(&chains, &trace, e, t), first, "{e:?} {t:?}");
        }
    }
}

/// Each use of hidden state comes after the one before it, whatever the model.
#[test]
fn uses_of_hidden_state_are_a_chain() {
    let trace = trace(
        "#! opaque h
         T1|w(x)
         T1|au(h=0>0)
         T2|au(h=0>0)
         T3|au(h=0>0)
         T3|w(x)",
    );
    for model in [Model::View, Model::Value, Model::Symbolic] {
        let all = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4)];
        assert_eq!(ordered(&trace, model), all);
    }
}

/// A joined thread has no broken event: its last read has seen its writer.
#[test]
fn joined_reads_have_their_writers() {
    let trace = trace("T1|w(x)\nT2|r(x)\nT3|join(T2)\nT3|w(x)");
    assert_eq!(ordered(&trace, Model::View), [(0, 2), (0, 3), (1, 2), (1, 3)]);
    let silent = crate::testing::trace("T1|fork(T3)\nT2|join(T3)\nT2|w(x)");
    assert_eq!(ordered(&silent, Model::View), [(0, 1), (0, 2)]);
}

#[test]
fn forks_and_joins_order() {
    let trace = trace("T0|w(x)\nT0|fork(T1)\nT1|w(x)\nT0|join(T1)\nT0|w(x)");
    assert_eq!(ordered(&trace, Model::View), [(0, 2), (1, 2), (2, 3), (2, 4)]);
}

/// T2's section has seen the write inside T1's section: so that one is over.
#[test]
fn order_is_closed_under_locks() {
    let trace = trace(
        "T1|acq(l)
         T1|w(x)
         T1|w(y)
         T1|rel(l)
         T2|acq(l)
         T2|r(x)
         T2|w(z)
         T2|rel(l)",
    );
    let ordered = ordered(&trace, Model::View);
    assert!(ordered.contains(&(3, 6)), "the section is over before the write of z");
    assert!(!ordered.iter().any(|&(_, b)| b <= 5), "T2 may come first");
    let trace_model = TraceModel::new(&trace, Model::View);
    let TraceModel { chains, must_happen_before, .. } = &trace_model;
    assert!(must_happen_before.run_before_next(chains, &trace, EventId(3), EventId(6)));
    assert_eq!(must_happen_before.before(chains, &trace, EventId(6)), [4, 2]);
    assert_eq!(must_happen_before.to_run(chains, &trace, EventId(4)), [0, 0]);
    assert_eq!(must_happen_before.after(chains, &trace, EventId(5)), [4, 2]);
    assert_eq!(must_happen_before.needs(chains, &trace, EventId(6), trace.thread(EventId(0))), 4);
    assert_eq!(trace_model.frontier_of_next(&ids([2, 6])), None);
}

/// Both are inside their sections of one lock: there is no such state. Readers may be.
#[test]
fn frontier_inside_two_sections_cannot_be_reached() {
    let exclusive = trace("T1|acq(l)\nT1|w(x)\nT1|rel(l)\nT2|acq(l)\nT2|w(x)\nT2|rel(l)");
    let trace_model = TraceModel::new(&exclusive, Model::View);
    assert_eq!(trace_model.frontier_of_next(&ids([1, 4])), None);
    assert_eq!(trace_model.frontier_of_next(&ids([1, 3])), Some(vec![1, 0]));
    let shared = trace("T1|racq(l)\nT1|w(x)\nT1|rrel(l)\nT2|racq(l)\nT2|w(x)\nT2|rrel(l)");
    let trace_model = TraceModel::new(&shared, Model::View);
    assert_eq!(trace_model.frontier_of_next(&ids([1, 4])), Some(vec![1, 1]));
}

/// The k-th down needs k posts, and one thread has them all.
#[test]
fn downs_need_as_many_posts() {
    let trace = trace(
        "T1|post(s)
         T2|down(s)
         T1|post(s)
         T1|post(s)
         T2|down(s)
         T3|down(s)",
    );
    // T3 may be the first to take a permit, but the second of T2 needs two posts.
    assert_eq!(ordered(&trace, Model::View), [(0, 1), (0, 4), (0, 5), (2, 4)]);
    let permit = crate::testing::trace("#! sem s=1\nT1|post(s)\nT2|down(s)\nT2|down(s)");
    assert_eq!(ordered(&permit, Model::View), [(0, 2)]);
}

/// Where two threads post, either may have been the first. Who has taken what both gave needs both.
#[test]
fn posts_of_several_threads() {
    let trace = trace("T1|post(s)\nT2|post(s)\nT3|down(s)\nT3|down(s)");
    assert_eq!(ordered(&trace, Model::View), [(0, 3), (1, 3)]);
    let own = crate::testing::trace("T1|post(s)\nT3|post(s)\nT3|down(s)\nT3|down(s)\nT3|post(s)");
    assert_eq!(ordered(&own, Model::View), [(0, 3), (0, 4)]);
}

/// A thread leaves a barrier when all have arrived; what they do next is not known.
#[test]
fn generations_of_a_barrier() {
    let trace = trace(
        "#! barrier b=2
         T1|arrive(b)
         T2|arrive(b)
         T1|leave(b)
         T1|arrive(b)
         T2|leave(b)
         T2|arrive(b)
         T2|leave(b)
         T1|leave(b)",
    );
    let ordered = ordered(&trace, Model::View);
    let before = |b| ordered.iter().filter(|p| p.1 == b).map(|p| p.0).collect::<Vec<_>>();
    assert_eq!([before(2), before(4)], [vec![1], vec![0]]);
    assert_eq!(before(3), [1]);
    assert_eq!(before(6), [0, 2, 3]);
    assert_eq!(before(7), [1, 4, 5]);
}

/// Three threads and two parties: nobody knows who meets whom, but for the last to leave.
#[test]
fn barrier_with_more_threads_than_parties() {
    let text = "#! barrier b=2
         T1|arrive(b)
         T2|arrive(b)
         T1|leave(b)
         T3|arrive(b)
         T1|arrive(b)
         T1|leave(b)";
    // The second generation is complete with four arrivals, and there are no others.
    assert_eq!(ordered(&trace(text), Model::View), [(1, 5), (3, 5)]);
    let twice =
        "#! barrier b=2\nT1|arrive(b)\nT1|arrive(b)\nT2|arrive(b)\nT2|arrive(b)\nT2|leave(b)";
    assert_eq!(ordered(&trace(twice), Model::View), [], "T1 fills a generation alone");
}

/// A wait ends with a notification that comes after it, or with what all of these need.
#[test]
fn notifications_come_before_the_end_of_a_wait() {
    let trace = trace(
        "T1|acq(l)
         T1|wait(c,l)
         T2|notify(c)
         T1|woken(c,l)
         T1|wait(c,l)
         T2|w(x)
         T2|notify(c)
         T1|woken(c,l)",
    );
    let ordered_1 = ordered(&trace, Model::View);
    assert_eq!(ordered_1, [(2, 3), (2, 4), (2, 7), (5, 7), (6, 7)]);
    let two = crate::testing::trace(
        "T0|fork(T2)
         T0|fork(T3)
         T1|acq(l)
         T1|wait(c,l)
         T2|notify(c)
         T3|notifyall(c)
         T1|woken(c,l)",
    );
    let behind: Vec<_> = ordered(&two, Model::View).into_iter().filter(|p| p.1 == 6).collect();
    assert_eq!(behind, [(0, 6)]);
}

/// A thread that takes the second of two permits waits until the other thread, if it has taken one,
/// has given it back; one that takes the first waits for nothing.
#[test]
fn permits_that_others_hold() {
    let trace = trace(
        "#! sem s=2
         A|down(s)
         A|w(x)
         B|r(x)
         A|post(s)
         B|down(s)
         B|down(s)
         B|w(y)",
    );
    let TraceModel { chains, must_happen_before: order, .. } = TraceModel::new(&trace, Model::View);
    let [post, first, second] = [3, 4, 5].map(EventId);
    assert!(!order.ordered_before(&chains, &trace, post, first));
    assert!(order.ordered_before(&chains, &trace, post, second));
}
