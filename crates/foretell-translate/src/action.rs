//! Effects of an access on a variable.

/// Effect of an access on a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    Read,
    /// A read-modify-write that failed: a read that would have been an update had it seen another
    /// value. See [`crate::failed_rmw`].
    FailedUpdate,
    Write,
    Update,
}

impl Action {
    pub(crate) fn reads(self) -> bool {
        self != Action::Write
    }

    pub(crate) fn writes(self) -> bool {
        matches!(self, Action::Write | Action::Update)
    }

    /// Whether an empty section of the variable's failed-update lock follows the access.
    pub(crate) fn checks_failed_updates(self) -> bool {
        matches!(self, Action::Read | Action::Update)
    }
}
