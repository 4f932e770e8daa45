//! Where no recorder is listening.

use super::Kind;

pub(super) fn send(_: Kind, _: &str) {}
