//! Hooks of a program that is built for symbolic recording: the path that a thread takes, and the
//! values on it. They are no steps of the thread.

use crate::entry::{enter, entries, leave};
use crate::recorder;
use foretell_rt_format::{Record, TrailKind};

fn note(kind: TrailKind, site: usize, a: usize, b: usize, pc: usize) {
    if let Some(t) = enter() {
        let (pc, site, a, b) = (pc as u64, site as u64, a as u64, b as u64);
        recorder::put(t, &Record::Trail { kind, pc, site, a, b });
        leave(t);
    }
}

macro_rules! hooks {
    ($($name:ident $kind:ident;)*) => {$(
        extern "C" fn $name(site: usize, a: usize, b: usize, pc: usize) {
            note(TrailKind::$kind, site, a, b, pc)
        }
    )*};
}
hooks! {
    function Enter; argument Argument; block Block; load Load; value Value; store Store;
    call Call; after After; function_end Leave;
}

entries! {
    __foretell_enter => function, "rcx";
    __foretell_argument => argument, "rcx";
    __foretell_block => block, "rcx";
    __foretell_load => load, "rcx";
    __foretell_value => value, "rcx";
    __foretell_store => store, "rcx";
    __foretell_call => call, "rcx";
    __foretell_after => after, "rcx";
    __foretell_leave => function_end, "rcx";
}
