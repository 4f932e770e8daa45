//! Buffers that are used again.

use std::sync::{Mutex, PoisonError};

/// Buffers that go round between the loop and the packer: fresh memory would have to be faulted in each time.
#[derive(Debug, Default)]
pub struct Buffers(Mutex<Vec<Vec<u64>>>);

/// Buffers that are kept for later.
const KEPT_BUFFERS: usize = 64;

impl Buffers {
    /// An empty buffer.
    pub fn take(&self) -> Vec<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub(crate) fn recycle(&self, buffer: Vec<u64>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() < KEPT_BUFFERS {
            kept.push(buffer);
        }
    }
}
