//! Numbers that are mostly small.
//!
//! A decoder has its edges at the ends of a type, and an analysis has its own where two records name the same thing.
//! Uniform numbers reach neither: they are never the ends and never the same twice.

use arbitrary::{Arbitrary, Result, Unstructured};

/// Mostly small, sometimes at an end of the type, sometimes anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number(pub u64);

impl<'a> Arbitrary<'a> for Number {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let first = u8::arbitrary(u)?;
        Ok(Self(match first {
            0..=239 => u64::from(first),
            240..=245 => u64::from(u16::arbitrary(u)?),
            246..=248 => u64::from(u32::arbitrary(u)?),
            249..=251 => u64::arbitrary(u)?,
            252 => u64::from(u32::MAX),
            253 => 1 << 48,
            254 => u64::MAX - 1,
            255 => u64::MAX,
        }))
    }

    fn size_hint(_depth: usize) -> (usize, Option<usize>) {
        (1, Some(9))
    }
}

impl Number {
    /// The low half.
    pub fn short(self) -> u32 {
        self.0 as u32
    }
}
