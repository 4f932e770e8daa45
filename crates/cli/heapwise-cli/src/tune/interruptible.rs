//! Input that ends with an error after an interrupt: what reads a long recording to its end does not check for one.

use std::io::{self, BufReader, Read};
use std::sync::atomic::{AtomicBool, Ordering};

/// Reads on until it is interrupted.
#[derive(Debug)]
pub(super) struct Interruptible<'a, R> {
    // Checked outside of the buffer, which may hold a whole recording.
    input: BufReader<R>,
    interrupted: &'a AtomicBool,
}

impl<'a, R: Read> Interruptible<'a, R> {
    pub(super) fn new(input: R, interrupted: &'a AtomicBool) -> Self {
        Self { input: BufReader::with_capacity(1 << 20, input), interrupted }
    }
}

impl<R: Read> Read for Interruptible<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.interrupted.load(Ordering::Relaxed) {
            // Not the kind `Interrupted`, after which readers try again.
            return Err(io::Error::other("interrupted"));
        }
        self.input.read(into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_interrupted_reads_no_further() {
        let interrupted = AtomicBool::new(false);
        let mut input = Interruptible::new(&b"abcdef"[..], &interrupted);
        let mut three = [0; 3];
        input.read_exact(&mut three).expect("there is enough");
        assert_eq!(&three, b"abc");
        interrupted.store(true, Ordering::Relaxed);
        let error = input.read_exact(&mut three).expect_err("it was interrupted");
        assert_eq!((error.kind(), three), (io::ErrorKind::Other, *b"abc"));
    }
}
