//! To the recorder in this program, or to the one that was preloaded.

use super::Kind;
use crate::state::{self, RECORDING};
use heapwise_recorder::wrapped::{self, Mark};

pub(super) fn send(kind: Kind, name: &str) {
    let kind = match kind {
        Kind::Moment => Mark::Moment,
        Kind::Begin => Mark::Begin,
        Kind::End => Mark::End,
    };
    if state::now().has(RECORDING) {
        wrapped::mark(kind, name.as_bytes());
    } else {
        wrapped::mark_by_preload(kind, name.as_bytes());
    }
}
