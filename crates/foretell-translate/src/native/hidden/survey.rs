//! Hidden state in the first pass: the functions that are called, and the users of each object.

use foretell_rt_format::{Entry, HiddenState, Record, SyncKind};
use rustc_hash::FxHashMap;

use super::objects::{Object, Objects};
use crate::native::regions::Regions;
use crate::native::survey::Users;

/// A function that is not recorded.
pub(super) struct Function {
    pub(super) state: HiddenState,
    pub(super) name: String,
    pub(super) library: u32,
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
}

impl HiddenSurvey {
    /// Takes a record of the first pass.
    pub(in crate::native) fn take(&mut self, regions: &mut Regions, entry: &Entry<'_>) {
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
    }

    /// Ends the first pass.
    pub(in crate::native) fn finish(&mut self) {
        self.objects.restart();
        if let Some(users) = self.users.get_mut(&Object::Kernel) {
            users.join(self.callers);
        }
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
