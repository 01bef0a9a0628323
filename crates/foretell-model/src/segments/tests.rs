//! The papers' worked examples, and where the segments here differ from those of the paper.

use foretell_trace::{EventKind, Model, Trace};

use super::*;
use crate::testing::{ids, trace};

/// The vectors of equation 1 of the paper: program order, read-after-write and sync edges, locks
/// left out. Counts of events of each thread that must run before each event.
fn published_vectors(trace_model: &TraceModel<'_>) -> Vec<Frontier> {
    let TraceModel { trace, chains, reads_from, .. } = trace_model;
    let mut vectors: Vec<Frontier> = Vec::new();
    for v in trace.ids() {
        let mut sources: Vec<EventId> = chains.previous(trace, v).into_iter().collect();
        sources.extend(chains.fork(trace.thread(v)).filter(|_| chains.position(v) == 0));
        if trace.op(v).reads() {
            sources.extend(reads_from.observed(v));
        }
        if let EventKind::Join { thread } = trace.event(v).kind {
            sources.extend(chains.events(thread).last());
        }
        let mut vector = vec![0; chains.thread_count()];
        for u in sources {
            for (mine, theirs) in vector.iter_mut().zip(&vectors[u.index()]) {
                *mine = (*mine).max(*theirs);
            }
            let own = &mut vector[trace.thread(u).index()];
            *own = (*own).max(chains.position(u) + 1);
        }
        vectors.push(vector);
    }
    vectors
}

fn segment_of(trace_model: &TraceModel<'_>, block: u32) -> Segment {
    Segment::new(trace_model, BlockId(block))
}

fn inside(trace_model: &TraceModel<'_>, segment: &Segment) -> Vec<u32> {
    trace_model.trace.ids().filter(|&e| segment.contains(trace_model, e)).map(|e| e.0).collect()
}

/// The accesses of a trace whose events are numbered in each thread from 1, as in the paper's
/// figures.
fn figure_4() -> Trace {
    trace(
        "T2|w(a)
         T3|w(b)
         T2|w(c)
         T3|w(b)
         T1|w(d)
         T2|w(e)
         T3|w(b)
         T1|w(d)
         T3|w(f)
         T2|r(f)
         T1|w(d)
         T1|r(e)
         T1|w(d)",
    )
}

/// Figure 4 names three vectors: 1.4 has [3,3,0], 2.4 has [0,3,4] and 2.2 has [0,1,0].
#[test]
fn vectors_of_the_papers_figure_4() {
    let trace = figure_4();
    let trace_model = TraceModel::new(&trace, Model::View);
    let vectors = published_vectors(&trace_model);
    let names = ["T1", "T2", "T3"];
    let order = names.map(|n| trace.find_thread(n).expect("a thread").index());
    let vector = |thread: usize, eid: usize| {
        let e = trace_model.chains.events(ThreadId::from_index(order[thread]))[eid - 1];
        order.map(|t| vectors[e.index()][t])
    };
    assert_eq!(vector(0, 4), [3, 3, 0]);
    assert_eq!(vector(1, 4), [0, 3, 4]);
    assert_eq!(vector(1, 2), [0, 1, 0]);
    // Ours say the same of what comes after the two reads; the reads themselves may run broken.
    let after = |e: u32| {
        let frontier =
            trace_model.must_happen_before.after(&trace_model.chains, &trace, EventId(e));
        order.map(|t| frontier[t])
    };
    assert_eq!(after(11), [4, 3, 0]);
    assert_eq!(after(9), [0, 4, 4]);
}

/// Figure 1 of both papers' running example: e1 is above, e2, e3 and e4 are the segment.
#[test]
fn segment_of_the_papers_figure_1() {
    let trace = trace("T2|w(p)\nT1|begin\nT1|r(p)\nT1|r(p)\nT1|end\nT2|w(p)");
    let trace_model = TraceModel::new(&trace, Model::View);
    let segment = segment_of(&trace_model, 0);
    assert_eq!(segment.upper, [1, 1], "e1 is above, and so is the begin");
    assert_eq!(inside(&trace_model, &segment), [2, 3, 5]);
    assert_eq!(segment.size(), 3);
    assert_eq!(segment.ends, ids([2, 3]));
    assert!(segment.may_be_violated(&trace_model));
}

/// A trace with the shape of the papers' Figure 5: frontiers on all three threads, a read on the
/// lower frontier that is coupled below the upper one and so does not bound it.
#[test]
fn frontiers_of_a_block_among_three_threads() {
    let trace = trace(
        "T2|w(a)
         T3|w(b)
         T3|w(u)
         T1|r(a)
         T1|r(b)
         T1|begin
         T1|w(x)
         T2|w(x)
         T1|w(y)
         T1|end
         T2|r(y)
         T2|w(z)
         T3|r(z)
         T3|w(x)",
    );
    let trace_model = TraceModel::new(&trace, Model::View);
    let segment = segment_of(&trace_model, 0);
    let order = ["T1", "T2", "T3"].map(|n| trace.find_thread(n).expect("a thread").index());
    assert_eq!(order.map(|t| segment.upper[t]), [3, 1, 1]);
    // T2's read of y may run (broken) before the block's last access, what follows it may not. The
    // write of x in T3 needs an intact read of z, that the write of z, that an intact read of y,
    // that the last access.
    assert_eq!(order.map(|t| segment.lower[t]), [5, 3, 3]);
    assert_eq!(inside(&trace_model, &segment), [2, 6, 7, 8, 10, 12]);
}

/// Without the closure under locks the upper frontier of the block is a state that cannot be
/// reached: T1 and T2 both inside their sections of l. T1 saw a write in T2's section, so that
/// section is over.
#[test]
fn upper_frontier_is_closed_under_locks() {
    let trace = trace(
        "T2|acq(l)
         T2|w(x)
         T2|w(y)
         T2|rel(l)
         T1|acq(l)
         T1|r(x)
         T1|begin
         T1|w(y)
         T1|w(y)
         T1|end
         T1|rel(l)",
    );
    let trace_model = TraceModel::new(&trace, Model::View);
    assert_eq!(published_vectors(&trace_model)[7], [2, 3], "inside both sections");
    let segment = segment_of(&trace_model, 0);
    assert_eq!(segment.upper, [4, 3]);
    assert_eq!(inside(&trace_model, &segment), [7, 8]);
    assert!(!segment.may_be_violated(&trace_model), "the write of y is above");
}

/// Accesses that conflict with nothing in the segment do not bound it.
#[test]
fn shrinking() {
    let trace = trace(
        "T1|begin
         T1|w(x)
         T1|w(y)
         T1|w(z)
         T1|end
         T2|w(z)
         T2|r(x)
         T2|w(y)",
    );
    let trace_model = TraceModel::new(&trace, Model::View);
    let segment = segment_of(&trace_model, 0);
    assert_eq!(segment.ends, ids([1, 2, 3]));
    assert!(segment.may_be_violated(&trace_model), "y and z and the broken read of x");
    let trace = crate::testing::trace(
        "T1|begin
         T1|w(a)
         T1|w(x)
         T1|w(y)
         T1|end
         T2|r(x)
         T2|w(y)",
    );
    let trace_model = TraceModel::new(&trace, Model::View);
    let segment = segment_of(&trace_model, 0);
    let shrunk = segment.clone().shrunk(&trace_model, BlockId(0));
    assert_eq!(shrunk.ends, ids([2, 3]));
    assert_eq!(shrunk.upper, [2, 0]);
    assert!(shrunk.size() < segment.size());
}

/// A block without accesses, and one that no other thread touches.
#[test]
fn nothing_to_violate() {
    let trace = trace("T1|begin\nT1|end\nT1|begin\nT1|w(x)\nT1|w(x)\nT1|end\nT2|w(y)");
    let trace_model = TraceModel::new(&trace, Model::View);
    assert_eq!(segment_of(&trace_model, 0).size(), 0);
    assert!(!segment_of(&trace_model, 0).may_be_violated(&trace_model));
    assert!(!segment_of(&trace_model, 1).may_be_violated(&trace_model));
    let whole = Segment::whole(&trace_model, BlockId(1));
    assert_eq!(whole.size(), 7);
    assert_eq!(whole.ends, ids([3, 4]));
}

/// Opaque variables are in no finding.
#[test]
fn opaque_accesses_do_not_count() {
    let trace = trace("#! opaque x\nT1|begin\nT1|w(x)\nT1|w(x)\nT1|end\nT2|w(x)");
    let trace_model = TraceModel::new(&trace, Model::View);
    assert!(segment_of(&trace_model, 0).ends.is_empty());
}
