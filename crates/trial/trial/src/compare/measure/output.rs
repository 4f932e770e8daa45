//! What a program writes: counted, hashed and searched, but not kept.
//!
//! A program may write more than fits into memory, so only the beginning is kept, for the first line that differs. A pipe
//! rather than a file, for the same reason.

use crate::compare::Output;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The longest line in which a text is looked for; longer ones are looked at in pieces.
const LONGEST_LINE: usize = 64 << 10;

/// Reads what a program writes.
#[derive(Clone, Debug)]
pub(super) struct Reader(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    bytes: u64,
    hasher: Sha256,
    start: Vec<u8>,
    wanted: Option<Vec<u8>>,
    line: Vec<u8>,
    is_seen: bool,
    is_over: bool,
}

impl Reader {
    /// Reads until the end, in a separate thread, and looks for a line that contains `wanted`.
    pub(super) fn new(mut from: impl Read + Send + 'static, wanted: Option<&str>) -> Self {
        let state = State {
            bytes: 0,
            hasher: Sha256::new(),
            start: Vec::new(),
            wanted: wanted.map(|text| text.as_bytes().to_owned()),
            line: Vec::new(),
            is_seen: false,
            is_over: false,
        };
        let reader = Self(Arc::new(Mutex::new(state)));
        let theirs = reader.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            loop {
                match from.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(n) => theirs.with(|state| state.add(&buffer[..n])),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(_) => break,
                }
            }
            theirs.with(|state| state.is_over = true);
        });
        reader
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the line was there.
    pub(super) fn has_seen(&self) -> bool {
        self.with(|state| state.is_seen)
    }

    /// What was written. If a process that was left behind keeps the pipe open, what was written after a while.
    pub(super) fn finish(self, patience: Duration) -> Output {
        let until = Instant::now() + patience;
        while !self.with(|state| state.is_over) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.with(|state| Output {
            bytes: state.bytes,
            hash: state.hasher.clone().finalize().into(),
            start: std::mem::take(&mut state.start),
        })
    }
}

impl State {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hasher.update(bytes);
        let room = Output::KEPT.saturating_sub(self.start.len());
        self.start.extend_from_slice(&bytes[..bytes.len().min(room)]);
        let Some(wanted) = self.wanted.as_deref().filter(|_| !self.is_seen) else { return };
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.windows(wanted.len()).any(|window| window == wanted) {
                self.is_seen = true;
                self.line = Vec::new();
                return;
            }
            if piece.ends_with(b"\n") {
                self.line.clear();
            } else if self.line.len() > LONGEST_LINE {
                // The text may lie across the cut.
                let cut = self.line.len() - wanted.len().min(self.line.len());
                self.line.drain(..cut);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives bytes one piece at a time.
    struct Pieces(Vec<&'static [u8]>);

    impl Read for Pieces {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let Some(piece) = self.0.pop() else { return Ok(0) };
            to[..piece.len()].copy_from_slice(piece);
            Ok(piece.len())
        }
    }

    #[test]
    fn a_line_is_found_across_pieces_and_the_hash_is_that_of_the_whole() {
        let reader = Reader::new(Pieces(vec![b"ning on 80\nrest", b"first\nliste"]), Some("listening"));
        let seen = reader.clone();
        let output = reader.finish(Duration::from_secs(10));
        assert!(seen.has_seen());
        assert_eq!(output.bytes, 26);
        assert_eq!(output.hash, <[u8; 32]>::from(Sha256::digest("first\nlistening on 80\nrest")));
        assert_eq!(output.start, b"first\nlistening on 80\nrest");
    }

    #[test]
    fn what_is_kept_is_bounded_and_a_text_does_not_go_across_lines() {
        let reader = Reader::new(std::io::repeat(b'x').take(3 << 20), None);
        let output = reader.finish(Duration::from_secs(10));
        assert_eq!((output.bytes, output.start.len()), (3 << 20, Output::KEPT));
        let reader = Reader::new(Pieces(vec![b"b\n", b"a\n"]), Some("a\nb"));
        let seen = reader.clone();
        reader.finish(Duration::from_secs(10));
        assert!(!seen.has_seen());
    }
}
