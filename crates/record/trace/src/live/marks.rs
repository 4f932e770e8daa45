//! The names of marks: a log in the memory of the process that uses them.
//!
//! A name is two bytes of length (little endian) and then itself, of at most
//! [`MARK_NAME_BYTES`](super::layout::MARK_NAME_BYTES). The first one has the id 1, and so on. A name is published before the
//! first event that has its id. [`MarkId::OTHER`] is that of all names for which there was no room.

use crate::event::MarkId;

/// Parses a name: the name at the start of `log`, and how many bytes it takes there. `None` at the end of the log, or
/// where it makes no sense.
pub fn name_at(log: &[u8]) -> Option<(&[u8], usize)> {
    let (len, rest) = log.split_first_chunk::<2>()?;
    let len = usize::from(u16::from_le_bytes(*len));
    Some((rest.get(..len)?, len + 2))
}

/// The id of the n-th name of a log, counted from 0.
pub fn id_of(n: usize) -> MarkId {
    MarkId(u32::try_from(n + 1).unwrap_or(MarkId::OTHER.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_one_after_the_other() {
        let log = b"\x05\0phase\0\0\x01\0x";
        assert_eq!(name_at(log), Some((&b"phase"[..], 7)));
        assert_eq!(name_at(&log[7..]), Some((&b""[..], 2)));
        assert_eq!(name_at(&log[9..]), Some((&b"x"[..], 3)));
        assert_eq!(name_at(&log[12..]), None);
        assert_eq!(name_at(&log[..6]), None, "cut in the middle of the name");
        assert_eq!(id_of(0), MarkId(1));
    }
}
