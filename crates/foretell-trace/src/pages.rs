//! Large pages behind the columns of large traces.
//!
//! A trace of fifty million events has a gigabyte of columns. Filled once from front to back, a
//! good part of the time goes into the system's handing out that memory in pages of 4 KiB. Where
//! the system has larger ones, asking for them is a hint: nothing depends on the answer.

/// Columns smaller than this are left alone.
const WORTH_ASKING: usize = 8 << 20;

/// Makes room for `more` elements, in large pages if that is much.
pub(crate) fn reserve<T>(column: &mut Vec<T>, more: usize) {
    if column.capacity() - column.len() < more {
        column.reserve(more);
        if column.capacity() * size_of::<T>() >= WORTH_ASKING {
            ask(column);
        }
    }
}

#[cfg(target_os = "linux")]
fn ask<T>(column: &mut Vec<T>) {
    // Rounded outwards to whole pages: advice for a part of an allocator's mapping would cut it in
    // two, and then it could no longer grow in place.
    const PAGE: usize = 4 << 10;
    let start = column.as_mut_ptr().cast::<u8>();
    let before = start.addr() % PAGE;
    let bytes = (before + column.capacity() * size_of::<T>()).next_multiple_of(PAGE);
    // SAFETY: the pages hold the column and the allocator's own notes about it, and the advice
    // leaves their contents alone.
    unsafe {
        libc::madvise(start.wrapping_sub(before).cast(), bytes, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(target_os = "linux"))]
fn ask<T>(_column: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_stay_when_a_column_grows_large() {
        let mut column: Vec<u32> = Vec::new();
        for round in 0..64u32 {
            reserve(&mut column, 1 << 16);
            column.resize(column.len() + (1 << 16), round);
        }
        assert!(column.capacity() * size_of::<u32>() >= WORTH_ASKING);
        assert!(column.iter().enumerate().all(|(i, &round)| round == (i >> 16) as u32));
    }
}
