//! How long the collector has shown no sign of life, for a process in which no id means it.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Ticks of the processor's clock after which a silent collector is taken to be gone: between three and ten seconds. One that was only
/// stopped for as long is given up, too.
const LONG: u64 = 1 << 34;

/// When its sign changed last. All zeroes is a collector that was never looked at.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Silence {
    sign: AtomicU32,
    since: AtomicU64,
}

impl Silence {
    /// Nothing was seen yet.
    pub const fn new() -> Self {
        Self { sign: AtomicU32::new(0), since: AtomicU64::new(0) }
    }

    /// Whether the sign has not changed for long. `now` is a reading of the clock, if that may be read.
    pub(crate) fn is_long(&self, sign: u32, now: Option<u64>) -> bool {
        let Some(now) = now else { return false };
        let is_new = self.sign.swap(sign, Ordering::Relaxed) != sign;
        let since = self.since.load(Ordering::Relaxed);
        if since == 0 || is_new {
            self.since.store(now, Ordering::Relaxed);
            return false;
        }
        now.saturating_sub(since) > LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_that_shows_no_sign_for_long_is_gone() {
        let silence = Silence::new();
        assert!(!silence.is_long(7, Some(100)) && !silence.is_long(7, Some(100 + LONG)));
        assert!(silence.is_long(7, Some(101 + LONG)));
        assert!(!silence.is_long(8, Some(102 + LONG)), "it has worked");
        assert!(!silence.is_long(8, None) && silence.is_long(8, Some(200 + 2 * LONG)));
    }
}
