//! What functions outside the recorded modules do to the memory of a program.

/// How far a function reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// It writes to the terminal. Nothing but its result depends on what it is given.
    Output,
    /// It touches no memory that the program computes with, but for the pointers among its arguments
    /// that it stores a result through: the one with this number, so many bytes.
    Own(Option<(usize, u64)>),
    /// A copy of memory: to the first argument, from the second, as many bytes as the third says.
    Copy,
    /// Memory filled: the first argument, as many bytes as the third says.
    Fill,
    /// Anything.
    Unknown,
}

/// What is known of a function.
pub(crate) fn reach(name: &str) -> Reach {
    match name {
        "printf" | "puts" | "putchar" | "perror" => Reach::Output,
        "pthread_create" => Reach::Own(Some((0, 8))),
        "pthread_join" => Reach::Own(Some((1, 8))),
        "__tsan_memcpy" | "__tsan_memmove" | "memcpy" | "memmove" => Reach::Copy,
        "__tsan_memset" | "memset" => Reach::Fill,
        "malloc"
        | "calloc"
        | "free"
        | "abort"
        | "exit"
        | "sched_yield"
        | "usleep"
        | "sleep"
        | "pthread_self"
        | "pthread_exit"
        | "__assert_fail"
        | "rand"
        | "getpid"
        | "foretell_atomic_begin"
        | "foretell_atomic_end" => Reach::Own(None),
        _ if name.starts_with("llvm.memset") => Reach::Fill,
        _ if name.starts_with("llvm.memcpy") || name.starts_with("llvm.memmove") => Reach::Copy,
        // `sem_getvalue` and the like of `pthread_attr_get…` store results.
        _ if is_synchronisation(name) => Reach::Own(None),
        _ => Reach::Unknown,
    }
}

fn is_synchronisation(name: &str) -> bool {
    let families = ["mutex", "cond", "rwlock", "barrier", "spin"];
    let words = [
        "lock",
        "unlock",
        "trylock",
        "timedlock",
        "init",
        "destroy",
        "wait",
        "timedwait",
        "signal",
        "broadcast",
        "rdlock",
        "wrlock",
        "tryrdlock",
        "trywrlock",
        "post",
        "trywait",
    ];
    let rest = match name.strip_prefix("pthread_") {
        Some(rest) => families.iter().find_map(|f| rest.strip_prefix(f)?.strip_prefix('_')),
        None => name.strip_prefix("sem_"),
    };
    rest.is_some_and(|rest| words.contains(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known() {
        assert_eq!(reach("pthread_mutex_lock"), Reach::Own(None));
        assert_eq!(reach("sem_post"), Reach::Own(None));
        assert_eq!(reach("sem_getvalue"), Reach::Unknown);
        assert_eq!(reach("llvm.memcpy.p0.p0.i64"), Reach::Copy);
        assert_eq!(reach("sprintf"), Reach::Unknown);
    }
}
