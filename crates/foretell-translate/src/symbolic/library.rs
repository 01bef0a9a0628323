//! Effects of functions outside the recorded modules on the memory of a program.

/// Effect of a function on memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reach {
    /// Output: only its result depends on its arguments.
    Output,
    /// No effect on memory that the program computes with, but for a result stored through the
    /// argument with this number, of this many bytes.
    Own(Option<(usize, u64)>),
    /// Copy of memory: to the first argument, from the second, of the third's number of bytes.
    Copy,
    /// Fill of memory: of the first argument, with the third's number of bytes.
    Fill,
    /// Any effect.
    Unknown,
}

/// Returns the effect of a function.
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
        // `sem_getvalue`, `pthread_attr_get…` and similar functions store results.
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
    fn functions_have_known_effects() {
        assert_eq!(reach("pthread_mutex_lock"), Reach::Own(None));
        assert_eq!(reach("sem_post"), Reach::Own(None));
        assert_eq!(reach("sem_getvalue"), Reach::Unknown);
        assert_eq!(reach("llvm.memcpy.p0.p0.i64"), Reach::Copy);
        assert_eq!(reach("sprintf"), Reach::Unknown);
    }
}
