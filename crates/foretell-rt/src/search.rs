//! Sorting and search trees of the C library, which call back recorded code.
//!
//! | function | record |
//! |---|---|
//! | `qsort`, `qsort_r` | the array is read, and written when it is sorted; in between a copy is sorted, as the library itself does with most arrays |
//! | `tsearch`, `tdelete` | the root is read and written; a new node has the key that it was given |
//! | `tfind` | the root is read |
//!
//! The root stands for the whole tree: it is recorded without its content, so that a read of the
//! tree keeps the change that it comes after.

use crate::access::{range, range_of_unknown_content};
use crate::entry::{enter, entries, leave};
use crate::memory::{P, copy, free_fn, malloc_fn};
use crate::real::real;
use foretell_rt_format::AccessKind::{Read, Write};

/// Sorts an array by way of a copy, which `sort` sorts.
unsafe fn sorted(base: usize, n: usize, size: usize, pc: usize, sort: &dyn Fn(usize)) {
    let bytes = n.saturating_mul(size);
    let Some(t) = (if bytes == 0 { None } else { enter() }) else { return sort(base) };
    // SAFETY: the program's own array; the copy has its size.
    unsafe {
        range(t, Read, base, bytes, pc, None);
        leave(t);
        let array = malloc_fn(bytes, pc);
        if array.is_null() {
            return sort(base);
        }
        copy(array.cast(), base as *const u8, bytes);
        sort(array as usize);
        if let Some(t) = enter() {
            range(t, Write, base, bytes, pc, Some(array as usize));
            leave(t);
        }
        copy(base as *mut u8, array.cast(), bytes);
        free_fn(array, pc);
    }
}

unsafe extern "C-unwind" fn qsort_fn(base: usize, n: usize, size: usize, compare: P, pc: usize) {
    let sort = |base: usize| real!(qsort(base: usize, n: usize, size: usize, compare: P));
    // SAFETY: as the program's own call.
    unsafe { sorted(base, n, size, pc, &sort) }
}

unsafe extern "C-unwind" fn qsort_r_fn(
    base: usize,
    n: usize,
    size: usize,
    compare: P,
    argument: P,
    pc: usize,
) {
    let sort =
        |base: usize| real!(qsort_r(base: usize, n: usize, size: usize, compare: P, argument: P));
    // SAFETY: as the program's own call.
    unsafe { sorted(base, n, size, pc, &sort) }
}

/// Records that a tree is read, and changed if it is.
fn uses_tree(root: usize, changes: bool, pc: usize) {
    if root != 0
        && let Some(t) = enter()
    {
        range_of_unknown_content(t, Read, root, size_of::<P>(), pc);
        if changes {
            range_of_unknown_content(t, Write, root, size_of::<P>(), pc);
        }
        leave(t);
    }
}

unsafe extern "C-unwind" fn tsearch_fn(key: usize, root: usize, compare: P, pc: usize) -> usize {
    uses_tree(root, true, pc);
    let node = real!(tsearch(key: usize, root: usize, compare: P) -> usize);
    // SAFETY: a node begins with the address of its key.
    unsafe {
        if node != 0
            && *(node as *const usize) == key
            && let Some(t) = enter()
        {
            range(t, Write, node, size_of::<P>(), pc, None);
            leave(t);
        }
    }
    node
}

unsafe extern "C-unwind" fn tfind_fn(key: usize, root: usize, compare: P, pc: usize) -> usize {
    uses_tree(root, false, pc);
    real!(tfind(key: usize, root: usize, compare: P) -> usize)
}

unsafe extern "C-unwind" fn tdelete_fn(key: usize, root: usize, compare: P, pc: usize) -> usize {
    uses_tree(root, true, pc);
    real!(tdelete(key: usize, root: usize, compare: P) -> usize)
}

entries! {
    qsort => qsort_fn, "r8";
    qsort_r => qsort_r_fn, "r9";
    tsearch => tsearch_fn, "rcx";
    tfind => tfind_fn, "rcx";
    tdelete => tdelete_fn, "rcx";
}
