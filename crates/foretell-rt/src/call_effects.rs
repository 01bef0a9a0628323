//! Effects of functions that the table `hidden/functions.txt` models.
//!
//! The effects are recorded before the function runs: accesses to memory with the content that is
//! there, or, for bytes that it writes, the content that the thread's next hook finds;
//! `foretell-build/src/link/effects.rs` has the layout of an effect. No other thread runs between
//! the record and the end of such a function, unless it waits.
//!
//! | effect | record |
//! |---|---|
//! | bytes, texts that are printed, state without a lock | accesses |
//! | state with a lock, names of files | messages of a channel, or a look at it |
//! | output to a stream | a message: what is buffered may be seen from now on |
//! | input from a stream | a look at the channel; the stream itself has hidden state |
//!
//! Output to the standard output and error of the program gives data away and is not recorded.
//! Where a function may wait for another thread (a stream that is a pipe), or an effect is too wide
//! for these records (a directory is renamed), the call uses the state of the kernel.

use crate::access::{range, range_of_unknown_content, range_written_later};
use crate::calls::settled;
use crate::channels::{self, Way};
use crate::hidden_call::{FIRST_ADDRESS, is_standard, is_standard_file, number_length};
use crate::library_state;
use crate::modules::in_libstdcxx;
use crate::paths::Path;
use crate::printed_text::{self, ArgumentList, SavedRegisters};
use crate::strings::whole;
use crate::sys;
use crate::thread::Baton;
use crate::transfer::{call_step, observe, sends_uncounted};
use crate::unexplored;
use foretell_rt_format::{AccessKind, HiddenState};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Mode of bytes that are written after hooks in the function itself.
const SETS: u32 = 13;

const ALL: usize = usize::MAX / 2;

/// Part of the mangled name of a function that is given a string.
const SHARED_STRING: &[u8] = b"RKNSt7__cxx1112basic_string";

/// The thread whose last call of a function that is not recorded prints to a file, plus one.
static WRITER: AtomicU32 = AtomicU32::new(0);

/// Takes note that a thread calls a function that is not recorded.
pub(crate) fn begin_call() {
    WRITER.store(0, Relaxed);
}

/// Whether a copy or a system call at this code address is one of the C++ library, for the buffer of
/// a file.
pub(crate) fn is_stream_buffer(t: Baton, pc: usize) -> bool {
    WRITER.load(Relaxed) == t.index() + 1 && in_libstdcxx(pc)
}

/// A call of a modelled function.
pub(crate) struct ModelledCall<'a> {
    pub(crate) t: Baton,
    pub(crate) pc: usize,
    /// The integer registers, and what follows them in the frame of the hook.
    pub(crate) arguments: &'a [usize; 6],
}

/// State that a call uses beside its recorded effects, with the addresses of its objects.
pub(crate) struct Rest {
    pub(crate) state: HiddenState,
    /// None: all arguments.
    pub(crate) object: Option<usize>,
}

impl Rest {
    fn kernel() -> Option<Rest> {
        Some(Rest { state: HiddenState::Kernel, object: None })
    }

    fn object(at: usize) -> Option<Rest> {
        Some(Rest { state: HiddenState::Arguments, object: Some(at) })
    }
}

/// Fields of an effect.
#[derive(Clone, Copy)]
struct Effect {
    mode: u32,
    argument: usize,
    option: u32,
    number: usize,
}

impl Effect {
    fn of(word: u32) -> Effect {
        Effect {
            mode: word & 15,
            argument: (word >> 4 & 7) as usize,
            option: word >> 8 & 15,
            number: (word >> 16) as usize,
        }
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

impl ModelledCall<'_> {
    /// Records the effects of the call. Returns the state that it uses beside them.
    ///
    /// # Safety
    /// The arguments are those of a call of a function with these effects.
    pub(crate) unsafe fn record(&self, effects: [usize; 2]) -> Option<Rest> {
        let words = effects.into_iter().flat_map(|pair| [pair as u32, (pair >> 32) as u32]);
        let mut rest = None;
        for word in words.take_while(|word| *word != 0) {
            // SAFETY: promised by the caller.
            let more = unsafe { self.effect(Effect::of(word)) };
            if rest.is_none() || more.as_ref().is_some_and(|r| r.state == HiddenState::Kernel) {
                rest = more.or(rest);
            }
        }
        rest
    }

    fn argument(&self, number: usize) -> usize {
        self.arguments[number.min(5)]
    }

    unsafe fn effect(&self, effect: Effect) -> Option<Rest> {
        let Effect { mode, argument, option, number } = effect;
        let at = self.argument(argument);
        // SAFETY: promised by the caller.
        unsafe {
            match mode {
                1..=3 | SETS => self.bytes(effect, at),
                4 => self.prints(argument, option),
                5 => self.state(option, library_state::address(number)?),
                6 => self.order(option, library_state::channel(number)),
                7 => return self.file(option, argument),
                8 => self.descriptor(option, at as c_int),
                9 | 10 => return self.path(effect, at),
                11 => return self.listing(at),
                12 => {
                    let (at, len) = library_state::buffer(number)?;
                    range_of_unknown_content(self.t, AccessKind::Write, at, len, self.pc);
                }
                _ => return Rest::kernel(),
            }
        }
        None
    }

    unsafe fn bytes(&self, effect: Effect, at: usize) {
        let Effect { mode, option, number, .. } = effect;
        if at < FIRST_ADDRESS {
            return;
        }
        // SAFETY: the function reads the text.
        let len = unsafe {
            match option {
                0 => number,
                1 => self.argument(number),
                2 => number_length(at),
                3 => whole(at, ALL),
                _ => self.argument(number).saturating_mul(self.argument(number + 1)),
            }
        };
        let (t, pc) = (self.t, self.pc);
        match mode {
            // SAFETY: the function reads these bytes.
            1 => unsafe { range(t, AccessKind::Read, at, len, pc, None) },
            2 => range_written_later(t, at, len, pc),
            // The thread's next hook may be one in the function itself, before it writes.
            SETS => range_of_unknown_content(t, AccessKind::Write, at, len, pc),
            _ => self.changes(at, len),
        }
    }

    fn changes(&self, at: usize, len: usize) {
        range_of_unknown_content(self.t, AccessKind::Read, at, len, self.pc);
        range_of_unknown_content(self.t, AccessKind::Write, at, len, self.pc);
    }

    /// Records the texts that a format prints, and the text that comes out of it.
    unsafe fn prints(&self, argument: usize, option: u32) {
        /// Places in the hook's frame: vector registers, and arguments on the stack.
        const VECTORS: usize = 72;
        const VECTOR_ROOM: usize = 64;
        const STACK: usize = 592;
        const LIST: u32 = 1;
        const INTO: u32 = 2;
        const LIMIT: u32 = 4;
        let (format, frame) = (self.argument(argument), self.arguments.as_ptr() as usize);
        if format < FIRST_ADDRESS {
            return;
        }
        let mut saved: SavedRegisters = [0; 22];
        // SAFETY: the hook has saved the registers in its frame, and the caller's arguments are
        // above it; a list is the program's own.
        unsafe {
            let list = if option & LIST != 0 {
                *(self.argument(argument + 1) as *const ArgumentList)
            } else {
                saved[..6].copy_from_slice(self.arguments);
                for (n, pair) in saved[6..].chunks_mut(2).enumerate() {
                    let vector = (frame + VECTORS + VECTOR_ROOM * n) as *const [usize; 2];
                    pair.copy_from_slice(&vector.read());
                }
                ArgumentList::after(argument + 1, &saved, frame + STACK)
            };
            for (text, len) in printed_text::texts(format, list) {
                range(self.t, AccessKind::Read, text, len, self.pc, None);
            }
            if option & INTO != 0 {
                let len = printed_text::length(format, list) + 1;
                let room = if option & LIMIT != 0 { self.argument(1) } else { ALL };
                range_written_later(self.t, self.argument(0), len.min(room), self.pc);
            }
        }
    }

    fn state(&self, option: u32, at: usize) {
        let access =
            |kind| range_of_unknown_content(self.t, kind, at, library_state::BYTES, self.pc);
        match option {
            1 => access(AccessKind::Read),
            2 => access(AccessKind::Write),
            _ => self.changes(at, library_state::BYTES),
        }
    }

    /// Records a use of state that the library protects: 1 changes it, 2 looks at it, 3 both.
    fn order(&self, option: u32, channel: u64) {
        call_step(self.t, self.pc);
        if option & 2 != 0 {
            observe(self.t, self.pc, channel);
        }
        if option & 1 != 0 {
            sends_uncounted(self.t, self.pc, channel);
        }
    }

    unsafe fn file(&self, option: u32, argument: usize) -> Option<Rest> {
        const SENDS: u32 = 1;
        const RECEIVES: u32 = 2;
        const SEEKS: u32 = 3;
        // SAFETY: a stream of the program, or one of the C library.
        let (file, fd, standard) = unsafe {
            let file = match argument {
                6 => stderr,
                7 => stdout,
                n => self.argument(n) as *mut libc::FILE,
            };
            if file.is_null() {
                // All streams are flushed.
                return Rest::kernel();
            }
            (file as usize, libc::fileno(file), option == SENDS && is_standard_file(file))
        };
        if standard {
            unexplored::writes_output(self.t.index());
            return None;
        }
        if fd < 0 || !matches!(option, SENDS | RECEIVES | SEEKS) {
            return Rest::object(file);
        }
        if option != SENDS && !settled(fd) {
            return Rest::kernel();
        }
        self.uses_file(fd, option != RECEIVES, option != SENDS);
        match option {
            SENDS => None,
            RECEIVES => Some(Rest { state: HiddenState::Arguments, object: None }),
            _ => Rest::object(file),
        }
    }

    /// Records a use of the file of a descriptor: output, input or both.
    pub(crate) fn uses_file(&self, fd: c_int, out: bool, input: bool) {
        call_step(self.t, self.pc);
        if out
            && is_writable(fd)
            && let Some(channel) = channels::channel(fd, Way::Out)
        {
            sends_uncounted(self.t, self.pc, channel);
        }
        if input && let Some(channel) = channels::channel(fd, Way::In) {
            observe(self.t, self.pc, channel);
        }
    }

    /// Records output of a C++ stream to its file: two threads that write without a lock race.
    /// Output observes nothing, so that it does not depend on the output before it.
    /// The library's copies into the buffer of the file depend on how full the buffer is, and are
    /// not recorded.
    pub(crate) fn writes_stream(&self, stream: usize, fd: c_int) {
        /// A word of the lock in the stream's buffer, which the library does not use.
        const WORD: usize = 80;
        self.uses_file(fd, true, false);
        range_of_unknown_content(self.t, AccessKind::Write, stream + WORD, 8, self.pc);
        WRITER.store(self.t.index() + 1, Relaxed);
    }

    /// Records the text that a function of C++ with this mangled name prints: its second argument
    /// is a text, with a length in the third one, or a string.
    ///
    /// # Safety
    /// The arguments are those of a call of that function.
    pub(crate) unsafe fn prints_object(&self, name: &[u8]) {
        let at = self.argument(1);
        let reads = |at: usize, len: usize| {
            // SAFETY: the function reads these bytes.
            unsafe { range(self.t, AccessKind::Read, at, len, self.pc, None) }
        };
        if at < FIRST_ADDRESS {
            return;
        }
        if name.starts_with(b"_ZSt16__ostream_insert") || name.starts_with(b"_ZNSo5write") {
            reads(at, self.argument(2));
        } else if name.ends_with(b"PKc") {
            // SAFETY: the function reads the text.
            reads(at, unsafe { whole(at, ALL) });
        } else if name.windows(SHARED_STRING.len()).any(|part| part == SHARED_STRING) {
            reads(at, 16);
            // SAFETY: a string begins with the address of its text, and its length.
            let [text, len] = unsafe { *(at as *const [usize; 2]) };
            reads(text, len);
        }
    }

    /// Records output to a descriptor, or a look at its file.
    fn descriptor(&self, option: u32, fd: c_int) {
        let out = option == 1;
        if out && is_standard(fd) {
            return unexplored::writes_output(self.t.index());
        }
        self.uses_file(fd, out, !out && settled(fd));
    }

    unsafe fn path(&self, effect: Effect, at: usize) -> Option<Rest> {
        const AT: u32 = 8;
        const OPENS: u32 = 10;
        const LOOKS: u32 = 1;
        const CHANGES: u32 = 2;
        const ADDS: u32 = 4;
        const OPEN_MODE: u32 = 3;
        let directory = match effect.option & AT {
            0 => libc::AT_FDCWD,
            _ => self.argument(effect.argument.wrapping_sub(1)) as c_int,
        };
        let way = effect.option & !AT;
        // SAFETY: a string begins with the address of its text.
        let at = if effect.number == 1 { unsafe { *(at as *const usize) } } else { at };
        call_step(self.t, self.pc);
        if at < FIRST_ADDRESS {
            return None;
        }
        // SAFETY: the program's own path.
        let paths = unsafe {
            let own = Path::given(directory, at, false);
            own.zip(Path::given(directory, at, true))
        };
        let Some((own, target)) = paths else { return Rest::kernel() };
        let kind = target.status().map(|status| status.st_mode & libc::S_IFMT);
        if effect.mode == OPENS {
            if kind == Some(libc::S_IFIFO) {
                return Rest::kernel();
            }
            self.look_at(&own, &target);
            // SAFETY: the arguments are as the effect says.
            let (creates, truncates) = unsafe { opens(way, self.argument(effect.argument + 1)) };
            if creates && kind.is_none() {
                self.change(&target);
            }
            if truncates && let Some(channel) = target.content() {
                sends_uncounted(self.t, self.pc, channel);
            }
            // A C++ stream is open from now on.
            return if way == OPEN_MODE { Rest::object(self.argument(0)) } else { None };
        }
        match way {
            LOOKS => {
                self.look_at(&own, &target);
                if let Some(channel) = target.content() {
                    observe(self.t, self.pc, channel);
                }
            }
            CHANGES => {
                // What is below a directory gets other names with it, or had none before.
                if kind == Some(libc::S_IFDIR) && own.has_entries() {
                    return Rest::kernel();
                }
                self.look_at(&own, &own);
                self.change(&own);
            }
            ADDS => own.changed().into_iter().skip(1).for_each(|listing| {
                sends_uncounted(self.t, self.pc, listing);
            }),
            _ => {
                self.look_at(&own, &target);
                observe(self.t, self.pc, target.listing());
            }
        }
        None
    }

    fn look_at(&self, own: &Path, target: &Path) {
        let mut channels = own.with_parents();
        if own != target {
            channels.extend(target.with_parents());
        }
        for channel in channels {
            observe(self.t, self.pc, channel);
        }
    }

    fn change(&self, path: &Path) {
        for channel in path.changed() {
            sends_uncounted(self.t, self.pc, channel);
        }
    }

    /// Records that the entries of an open directory are read.
    unsafe fn listing(&self, directory: usize) -> Option<Rest> {
        // SAFETY: the program's own directory stream.
        let fd = unsafe { libc::dirfd(directory as *mut libc::DIR) };
        let Some(path) = Path::of(fd) else { return Rest::kernel() };
        call_step(self.t, self.pc);
        observe(self.t, self.pc, path.listing());
        Rest::object(directory)
    }
}

/// Returns the access mode of a descriptor.
fn access_mode(fd: c_int) -> Option<c_int> {
    let a = [fd as isize as usize, libc::F_GETFL as usize, 0, 0, 0, 0];
    // SAFETY: asks for flags.
    let flags = unsafe { sys::call(libc::SYS_fcntl, a) };
    (flags >= 0).then_some(flags as c_int & libc::O_ACCMODE)
}

/// Whether a descriptor can be written to.
fn is_writable(fd: c_int) -> bool {
    access_mode(fd).is_some_and(|mode| mode != libc::O_RDONLY)
}

/// Whether a descriptor can be read from.
pub(crate) fn is_readable(fd: c_int) -> bool {
    access_mode(fd).is_some_and(|mode| mode != libc::O_WRONLY)
}

/// Whether a file is created where there is none, and emptied where there is one.
///
/// # Safety
/// The argument is of the kind `how`.
unsafe fn opens(how: u32, argument: usize) -> (bool, bool) {
    match how {
        1 => {
            let flags = argument as c_int;
            (flags & libc::O_CREAT != 0, flags & libc::O_TRUNC != 0)
        }
        // SAFETY: the mode of `fopen` is a text.
        2 => match unsafe { (argument as *const u8).read() } {
            b'w' => (true, true),
            b'a' => (true, false),
            _ => (false, false),
        },
        _ => {
            /// Bits of `std::ios_base::openmode`.
            const APP: usize = 1;
            const IN: usize = 8;
            const OUT: usize = 16;
            const TRUNC: usize = 32;
            let emptied = argument & TRUNC != 0 || argument & (APP | IN) == 0;
            let creates = argument & (APP | TRUNC) != 0 || argument & IN == 0;
            (argument & (OUT | APP) != 0 && creates, argument & OUT != 0 && emptied)
        }
    }
}
