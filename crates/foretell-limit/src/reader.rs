//! Reading within limits.

use std::io::{self, Read};

use crate::check_now;

/// Reader that checks the limits at every read.
#[derive(Debug)]
pub struct CheckedReader<R>(pub R);

impl<R: Read> Read for CheckedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        check_now();
        self.0.read(buffer)
    }
}
