//! To the recording that this program makes of itself.

use super::Kind;
use crate::record;
use crate::state::{self, RECORDING};
use heapwise_trace::event::MarkKind;

pub(super) fn send(kind: Kind, name: &str) {
    if state::now().has(RECORDING) {
        let kind = match kind {
            Kind::Moment => MarkKind::Point,
            Kind::Begin => MarkKind::Begin,
            Kind::End => MarkKind::End,
        };
        record::mark(kind, name);
    }
}
