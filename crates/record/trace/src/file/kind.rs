//! Kinds of sections. Numbers are never used twice.

pub(crate) const META: u16 = 1;
pub(crate) const PROCESS: u16 = 2;
pub(crate) const THREAD: u16 = 3;
pub(crate) const MODULE: u16 = 4;
pub(crate) const EVENTS: u16 = 5;
pub(crate) const NODES: u16 = 6;
pub(crate) const CLOCK: u16 = 7;
pub(crate) const SAMPLES: u16 = 8;
pub(crate) const PROCESS_END: u16 = 9;
pub(crate) const THREAD_END: u16 = 10;
pub(crate) const SYMBOLS: u16 = 11;
pub(crate) const RUN_END: u16 = 12;
pub(crate) const SNAPSHOT: u16 = 13;
pub(crate) const USABLE_SIZES: u16 = 14;
pub(crate) const MARK_NAMES: u16 = 15;
pub(crate) const CARRIED: u16 = 16;

/// Whether this version knows the kind.
pub(crate) fn is_known(kind: u16) -> bool {
    (META..=CARRIED).contains(&kind)
}
