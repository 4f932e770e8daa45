//! Where each thread is when most is live.
//!
//! Clocks are too coarse for it: a block that is there for a moment may be the peak, and on a busy machine an epoch is long. Each new
//! peak has a number, and a stream that goes on after it notes the number and where it went on.

use crate::replay::script::epochs::Number;
use crate::replay::script::streams::Position;

/// The moment at which most was live until now.
#[derive(Debug, Default)]
pub(super) struct Peak {
    /// The epoch it is in.
    pub(super) epoch: Number,
    /// How many peaks there were.
    number: u64,
    /// By stream: the last peak after which it went on, and the first record after it.
    next: Vec<(u64, Position)>,
}

impl Peak {
    pub(super) fn add_stream(&mut self) {
        self.next.push((0, Position(0)));
    }

    /// More is live than ever before.
    #[inline(always)]
    pub(super) fn rise(&mut self, epoch: Number) {
        self.number += 1;
        self.epoch = epoch;
    }

    /// A stream has a record at a place.
    #[inline(always)]
    pub(super) fn go_on(&mut self, stream: usize, at: Position) {
        let next = &mut self.next[stream];
        if next.0 != self.number {
            *next = (self.number, at);
        }
    }

    /// Before which record a stream stands at the peak. `None` if it has none after it.
    pub(super) fn stop(&self, stream: usize) -> Option<Position> {
        self.next.get(stream).filter(|next| next.0 == self.number && self.number > 0).map(|next| next.1)
    }
}
