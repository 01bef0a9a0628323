//! Little concurrent programs: flat code for each thread over shared objects.

/// One of an array of objects: `base`, or `base + stride · index` with the index that the thread
/// last picked into a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub(crate) base: u32,
    pub(crate) stride: u32,
    pub(crate) slot: u8,
}

impl Object {
    /// The object with the index in `slot`, from `base` on.
    pub(crate) fn picked(base: usize, slot: u8) -> Object {
        Object { base: base as u32, stride: 1, slot }
    }
}

impl From<usize> for Object {
    fn from(base: usize) -> Object {
        Object { base: base as u32, stride: 0, slot: 0 }
    }
}

/// A local variable of a thread; what reads load and expressions use.
pub(crate) type Local = u8;
/// Number of local variables and of index slots of each thread.
pub(crate) const LOCALS: usize = 8;

/// The right-hand side of a write.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rhs {
    Const(i64),
    /// A local plus a constant.
    Plus(Local, i64),
    /// The sum of two locals.
    Sum(Local, Local),
    /// A local modulo a positive constant.
    Mod(Local, i64),
    /// One constant if a local equals another constant, else the local.
    IfEq(Local, i64, i64),
    /// A value never written before.
    Fresh,
    /// A random value below a bound.
    Random(i64),
}

/// A condition over locals.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Test {
    Lt(Local, i64),
    Ge(Local, i64),
    Eq(Local, i64),
    Ne(Local, i64),
    SameAs(Local, Local),
}

/// Operation of one instruction. Those that are not events of a trace say so.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Do {
    Read {
        var: Object,
        atomic: bool,
        into: Local,
    },
    Write {
        var: Object,
        atomic: bool,
        value: Rhs,
    },
    Update {
        var: Object,
        into: Local,
        value: Rhs,
    },
    Acquire(Object),
    Release(Object),
    AcquireShared(Object),
    ReleaseShared(Object),
    /// A call of code that is not recorded, which uses the state that the variable stands for.
    Hidden(Object),
    /// Takes the lock, or fails if another thread holds it and goes on at `otherwise`.
    Try {
        lock: Object,
        otherwise: usize,
    },
    /// Takes the reader side, or fails if another thread owns the lock and goes on at `otherwise`.
    TryShared {
        lock: Object,
        otherwise: usize,
    },
    Wait {
        cond: Object,
        lock: Object,
        timed: bool,
    },
    Notify(Object),
    NotifyAll(Object),
    Post(Object),
    Down(Object),
    Arrive(Object),
    Leave(Object),
    Fork(usize),
    Join(usize),
    /// A memory fence.
    Fence,
    Begin,
    End,
    /// Goes on at `otherwise` unless the test holds. A guard in symbolic traces, else no event.
    Branch {
        test: Test,
        otherwise: usize,
    },
    /// No event: picks a random index below the bound into a slot.
    Pick {
        slot: u8,
        bound: u32,
    },
    /// No event: `slot` becomes the index in slot `of` plus a random multiple below `bound` of
    /// `stride`: something that belongs to what was picked before.
    PickWithin {
        slot: u8,
        of: u8,
        stride: u32,
        bound: u32,
    },
    /// No event.
    Jump(usize),
    /// No event: back to `back`, until that happened `times` times; then starts counting anew.
    Repeat {
        times: u32,
        slot: u8,
        back: usize,
    },
    /// No event: goes on at the target in all but `percent` of a hundred cases.
    Sometimes {
        percent: u8,
        otherwise: usize,
    },
    /// No event: only one thread is between these two at a time. The luck of the schedule: locks
    /// that are taken in unlucky orders inside do not get in each other's way.
    Lucky,
    Unlucky,
}

/// One instruction and its line in the source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instr {
    pub(crate) what: Do,
    pub(crate) line: u32,
}

/// The sort of all values of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sort {
    Int,
    /// Unsigned bit-vectors of 8 bits.
    Byte,
}

/// Values of a run that its trace has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Detail {
    /// Nothing.
    Bare,
    /// Values of accesses.
    Values,
    /// Values, registers, expressions and guards.
    Symbolic {
        /// Every read gets a new register; else one for each local.
        fresh: bool,
    },
}

/// A program, how it is scheduled and how much of it is recorded.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) file: &'static str,
    pub(crate) threads: Vec<Vec<Instr>>,
    pub(crate) detail: Detail,
    pub(crate) sort: Sort,
    /// Variables below this are also written by code that is not recorded.
    pub(crate) opaque: u32,
    /// Variables from this on stand for hidden state.
    pub(crate) hidden: u32,
    /// Whether initial values are declared. All are 0.
    pub(crate) declare_initial: bool,
    /// Initial counts of the semaphores; 0 for more of them.
    pub(crate) semaphores: Vec<u64>,
    /// Parties of the barriers; the number of threads for more of them.
    pub(crate) parties: Vec<u32>,
    /// Percentage of events at which the scheduler looks for another thread to run.
    pub(crate) switch: usize,
    /// Whether atomic accesses and fences have any memory order; else they are sequentially
    /// consistent.
    pub(crate) orders: bool,
}

impl Program {
    pub(crate) fn new(detail: Detail) -> Program {
        Program {
            file: "gen.c",
            threads: Vec::new(),
            detail,
            sort: Sort::Int,
            opaque: 0,
            hidden: u32::MAX,
            declare_initial: true,
            semaphores: Vec::new(),
            parties: Vec::new(),
            switch: 40,
            orders: false,
        }
    }
}

/// Writes the code of one thread, or of several that run the same function.
#[derive(Debug)]
pub(crate) struct Coder {
    code: Vec<Instr>,
    line: u32,
}

impl Coder {
    /// Starts at a line.
    pub(crate) fn at(line: u32) -> Coder {
        Coder { code: Vec::new(), line }
    }

    /// The line that the next statement gets.
    pub(crate) fn line(&self) -> u32 {
        self.line
    }

    /// The place in the code of the next instruction.
    pub(crate) fn here(&self) -> usize {
        self.code.len()
    }

    /// Adds a statement on a line of its own.
    pub(crate) fn add(&mut self, what: Do) -> &mut Coder {
        self.code.push(Instr { what, line: self.line });
        self.line += 1;
        self
    }

    /// Goes on at this line.
    pub(crate) fn move_to(&mut self, line: u32) {
        self.line = line;
    }

    /// Adds an instruction that jumps forward; [`Coder::land`] says where to.
    pub(crate) fn leap(&mut self, what: Do) -> usize {
        self.add(what);
        self.code.len() - 1
    }

    /// Makes the jump added at `place` go here.
    pub(crate) fn land(&mut self, place: usize) {
        let here = self.code.len();
        match &mut self.code[place].what {
            Do::Try { otherwise, .. }
            | Do::TryShared { otherwise, .. }
            | Do::Branch { otherwise, .. }
            | Do::Sometimes { otherwise, .. }
            | Do::Jump(otherwise) => *otherwise = here,
            _ => {}
        }
    }

    /// The code.
    pub(crate) fn finish(self) -> Vec<Instr> {
        self.code
    }
}
