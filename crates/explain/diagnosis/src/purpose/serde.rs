//! Whether serde reads or writes: only what it reads is made for the type that it fills.

use heapwise_analysis::Frame;
use heapwise_analysis::owner::Owner;

/// Which way serde's values go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Reads,
    /// Text is put together there as anywhere else.
    Writes,
}

/// What a function of serde's, or one that a program has for serde, does. Some have no direction: a map that is filled by either.
pub(super) fn direction(frame: &Frame<'_>) -> Option<Direction> {
    let (name, file) = (frame.function.unwrap_or_default(), frame.file.unwrap_or_default());
    let is_of_serde = [name, file].iter().any(|text| text.contains("serde"));
    if !is_of_serde || !matches!(frame.owner, Owner::Dependency | Owner::User) {
        return None;
    }
    let has = |parts: &[&str], folder: &str, source: &str| {
        parts.iter().any(|part| name.contains(part)) || file.contains(folder) || file.ends_with(source)
    };
    // "Serialize" is a part of the name of what deserializes only without its first letter.
    if has(&["::de::", "eserialize", "visit_", "borrow_cow_", "parse_str_bytes"], "/de/", "/de.rs") {
        Some(Direction::Reads)
    } else if has(&["::ser::", "Serialize", "serialize_"], "/ser/", "/ser.rs") {
        Some(Direction::Writes)
    } else {
        None
    }
}
