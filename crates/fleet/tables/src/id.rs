//! Ids that outlive a build, a run and a machine.

use sha2::{Digest, Sha256};
use std::fmt;

/// The first 128 bits of the SHA-256 of what it names: any engine can compute it, and no two names of hostile programs have the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub [u8; 16]);

impl Id {
    /// The id of several parts, each followed by a zero byte, but for the last.
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                hasher.update([0]);
            }
            hasher.update(part);
        }
        Self::from(hasher)
    }

    /// The id of a sequence of ids.
    pub(crate) fn of_ids(ids: &[Self]) -> Self {
        let mut hasher = Sha256::new();
        ids.iter().for_each(|id| hasher.update(id.0));
        Self::from(hasher)
    }
}

impl From<Sha256> for Id {
    fn from(hasher: Sha256) -> Self {
        let digest = hasher.finalize();
        let mut id = [0; 16];
        id.copy_from_slice(&digest[..16]);
        Self(id)
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_what_others_compute() {
        // printf 'libc.so\0malloc' | sha256sum
        let id = Id::of(&[b"libc.so", b"malloc"]);
        assert_eq!(id.to_string(), "1344d15f82558cab829865b711414f3c");
        assert_ne!(id, Id::of(&[b"libc.so", b"", b"malloc"]));
        // printf '' | sha256sum
        assert_eq!(Id::of_ids(&[]).to_string(), "e3b0c44298fc1c149afbf4c8996fb924");
    }
}
