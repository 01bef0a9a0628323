//! Reads that nothing explains: code that is not recorded has written the value.
//!
//! A thread that reads such a value comes after everything that the other threads have done, since
//! any of them may have run that code. The variable is opaque.

/// Value of a variable as far as recorded accesses tell.
#[derive(Default)]
pub(super) struct Content {
    value: Option<i64>,
    /// Threads that have read a value which nothing explains.
    readers: Vec<u32>,
}

impl Content {
    pub(super) fn new(initial: Option<i64>) -> Content {
        Content { value: initial, readers: Vec::new() }
    }

    /// Notes a read. Returns whether nothing explains the value and the thread reads it first.
    pub(super) fn read(&mut self, thread: u32, seen: i64) -> bool {
        if self.value == Some(seen) && self.readers.is_empty() {
            return false;
        }
        let known = self.value.replace(seen);
        if known.is_none() && self.readers.is_empty() {
            return false;
        }
        if known != Some(seen) {
            self.readers.clear();
        }
        let first = !self.readers.contains(&thread);
        if first {
            self.readers.push(thread);
        }
        first
    }

    /// Notes a write.
    pub(super) fn write(&mut self, value: i64) {
        self.value = Some(value);
        self.readers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_that_no_write_explains_is_new_to_each_thread_once() {
        let mut content = Content::new(Some(0));
        assert!(!content.read(1, 0) && !content.read(2, 0));
        assert!(content.read(1, 5) && !content.read(1, 5) && content.read(2, 5));
        content.write(5);
        assert!(!content.read(3, 5));
    }

    #[test]
    fn first_read_of_an_unknown_value_tells_it() {
        let mut content = Content::new(None);
        assert!(!content.read(1, 7) && !content.read(2, 7) && content.read(2, 8));
    }
}
