//! Hidden state in the first pass: the functions that are called, and the users of each object.

use foretell_log::PlainAccess;
use foretell_rt_format::{Entry, HiddenState, Record, SyncKind};
use rustc_hash::FxHashMap;

use super::first_pass::{Accesses, FirstPass, Memory};
use super::objects::{Object, Objects};
use super::orders::Orders;
use crate::native::cells::Cells;
use crate::native::regions::{RegionId, Regions};
use crate::native::survey::Users;

/// A function that is not recorded.
pub(super) struct Function {
    pub(super) state: HiddenState,
    pub(super) name: String,
    pub(super) library: u32,
}

impl Function {
    /// Returns the number of arguments at whose addresses the function reads what is there, if it
    /// uses nothing but what it is given. Further registers may hold anything.
    fn texts(&self) -> usize {
        if self.state != HiddenState::Arguments {
            return 0;
        }
        let has_second = match self.name.strip_prefix("_Z") {
            Some(mangled) => !mangled.ends_with("Ev"),
            None => ["str", "wcs", "regex"].iter().any(|start| self.name.starts_with(start)),
        };
        if has_second { 2 } else { 1 }
    }
}

/// Functions that are not recorded.
#[derive(Default)]
pub(super) struct Functions {
    by_number: FxHashMap<u64, Function>,
    /// File names of libraries.
    pub(super) libraries: Vec<String>,
}

impl Functions {
    fn define(&mut self, number: u64, state: HiddenState, name: &[u8], library: &[u8]) {
        let library = String::from_utf8_lossy(library).into_owned();
        let known = self.libraries.iter().position(|other| *other == library);
        let library = known.unwrap_or_else(|| {
            self.libraries.push(library);
            self.libraries.len() - 1
        }) as u32;
        let name = String::from_utf8_lossy(name).into_owned();
        self.by_number.insert(number, Function { state, name, library });
    }

    /// Returns a function; none that a damaged log does not define.
    pub(super) fn get(&self, number: u64) -> Option<&Function> {
        self.by_number.get(&number)
    }
}

/// Uses of hidden state in a whole run.
#[derive(Default)]
pub(in crate::native) struct HiddenSurvey {
    pub(super) functions: Functions,
    pub(super) objects: Objects,
    users: FxHashMap<Object, Users>,
    /// Threads that make system calls which are recorded.
    callers: Users,
    /// Number of records so far.
    records: u64,
    first_pass: FirstPass,
    orders: Orders,
    pub(super) accesses: Accesses,
}

impl HiddenSurvey {
    /// Counts a record that says nothing of memory.
    pub(in crate::native) fn skip(&mut self) {
        self.records += 1;
    }

    /// Takes a plain access of the first pass to bytes of one word, after its cells were touched:
    /// the word's region and the number of its page.
    #[inline]
    pub(in crate::native) fn plain_in_word(
        &mut self,
        regions: &mut Regions,
        cells: &mut Cells,
        access: &PlainAccess,
        (region, page): (RegionId, Option<usize>),
    ) {
        let index = self.records;
        self.records += 1;
        let HiddenSurvey { objects, orders, first_pass, .. } = self;
        let memory = &mut Memory { regions, cells, objects, orders };
        first_pass.word_access(memory, access, index, (region, page));
    }

    /// Takes a plain access of the first pass to several words, after its cells were touched.
    pub(in crate::native) fn plain(
        &mut self,
        regions: &mut Regions,
        cells: &mut Cells,
        access: &PlainAccess,
    ) {
        let index = self.records;
        self.records += 1;
        let HiddenSurvey { objects, orders, first_pass, .. } = self;
        let memory = &mut Memory { regions, cells, objects, orders };
        first_pass.record(memory, &access.logged().entry, index);
    }

    /// Takes the record of an operation on a lock.
    pub(in crate::native) fn lock(
        &mut self,
        regions: &mut Regions,
        cells: &mut Cells,
        thread: u32,
        lock: u64,
    ) {
        let index = self.records;
        self.records += 1;
        let HiddenSurvey { objects, orders, first_pass, .. } = self;
        let memory = &mut Memory { regions, cells, objects, orders };
        first_pass.use_block(memory, (thread, index), lock);
    }

    /// Takes a record of the first pass, after its cells were touched.
    pub(in crate::native) fn take(
        &mut self,
        regions: &mut Regions,
        cells: &mut Cells,
        entry: &Entry<'_>,
    ) {
        let index = self.records;
        self.records += 1;
        match entry.record {
            Record::Module { bias, start, end, path, .. } => {
                self.objects.add_module(start, end, bias, path);
            }
            Record::ModuleGone { start } => self.objects.remove_module(start),
            Record::HiddenFunction { function, state, name, library } => {
                self.functions.define(function, state, name, library);
            }
            Record::HiddenCall { function, ref arguments, .. } => {
                let used = used(&self.functions, &mut self.objects, regions, function, arguments);
                for object in used {
                    self.users.entry(object).or_default().add(entry.thread);
                }
            }
            Record::Free { counted: true, addr, .. } => {
                // A block that no hidden call has used has no hidden state.
                if let Some((region, _)) = regions.extent(addr)
                    && let Some(users) = self.users.get_mut(&Object::Region(region))
                {
                    users.add(entry.thread);
                }
            }
            Record::Sync { kind, .. } if uses_kernel(kind) => self.callers.add(entry.thread),
            Record::Forked { .. } => self.callers.add(entry.thread),
            _ => {}
        }
        let HiddenSurvey { functions, objects, orders, first_pass, .. } = self;
        let memory = &mut Memory { regions, cells, objects, orders };
        first_pass.record(memory, entry, index);
        if let Record::HiddenCall { function, ref arguments, .. } = entry.record
            && let Some(function) = functions.get(function)
        {
            let given = arguments.len().min(function.texts());
            first_pass.give_words(memory, entry.thread, &arguments[..given]);
        }
    }

    /// Ends the first pass.
    pub(in crate::native) fn finish(&mut self, cells: &Cells) {
        let (first_pass, orders) =
            (std::mem::take(&mut self.first_pass), std::mem::take(&mut self.orders));
        self.accesses = first_pass.finish(cells, orders);
        for &object in self.accesses.hidden_words.values() {
            self.users.insert(object, Users::Many);
        }
        self.objects.restart();
        if let Some(users) = self.users.get_mut(&Object::Kernel) {
            users.join(self.callers);
        }
    }

    /// Forgets the orders between records: the second pass sees them in another sequence.
    pub(in crate::native) fn forget_orders(&mut self) {
        self.accesses.orders = Orders::default();
    }

    /// Returns the words that hidden code writes, by region and address, with their objects.
    pub(in crate::native) fn hidden_words(&mut self) -> FxHashMap<(RegionId, u64), Object> {
        std::mem::take(&mut self.accesses.hidden_words)
    }

    /// Whether several threads use the state of an object.
    pub(super) fn is_shared(&self, object: Object) -> bool {
        self.users.get(&object) == Some(&Users::Many)
    }
}

/// Whether an operation passes something through the kernel.
pub(super) fn uses_kernel(kind: SyncKind) -> bool {
    use SyncKind::*;
    matches!(kind, SystemCall | Sent | Received | Looked)
}

/// Returns the objects whose state a call uses, each once.
pub(super) fn used(
    functions: &Functions,
    objects: &mut Objects,
    regions: &mut Regions,
    function: u64,
    arguments: &[u64],
) -> Vec<Object> {
    let mut used: Vec<Object> =
        arguments.iter().filter_map(|&addr| objects.of(regions, addr)).collect();
    if let Some(function) = functions.get(function) {
        if function.state != HiddenState::Arguments {
            used.push(Object::Library(function.library));
        }
        if function.state == HiddenState::Kernel {
            used.push(Object::Kernel);
        }
    }
    used.sort_unstable();
    used.dedup();
    used
}
