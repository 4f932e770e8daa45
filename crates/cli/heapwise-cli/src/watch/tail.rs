//! A file that grows, as a stream that waits at its end.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the end of the file is looked at again.
const PAUSE: Duration = Duration::from_millis(20);

/// Reads on when there is more, and ends when it is asked to.
#[derive(Debug)]
pub(super) struct Tail<R> {
    input: R,
    stop: Arc<AtomicBool>,
}

impl<R: Read> Tail<R> {
    pub(super) fn new(input: R, stop: Arc<AtomicBool>) -> Self {
        Self { input, stop }
    }
}

impl<R: Read> Read for Tail<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.input.read(buffer)?;
            if n > 0 || buffer.is_empty() || self.stop.load(Ordering::Relaxed) {
                return Ok(n);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_written_later_is_read_and_the_end_comes_on_request() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        let stop = Arc::new(AtomicBool::new(false));
        let mut tail = Tail::new(file.reopen().expect("the same file"), Arc::clone(&stop));
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            tail.read_to_string(&mut text).map(|_| text)
        });
        for part in ["one ", "two"] {
            std::thread::sleep(PAUSE * 2);
            file.write_all(part.as_bytes()).expect("the disk has room");
        }
        std::thread::sleep(PAUSE * 3);
        assert!(!reader.is_finished(), "it waits for more");
        stop.store(true, Ordering::Relaxed);
        assert_eq!(reader.join().expect("no panic").expect("no error"), "one two");
    }
}
