//! Amounts that must not be confused with each other, and numbers as people read them.

mod in_words;

pub use in_words::{about, bytes, count, digits, percent, share, signed, signed_percent, time};

use core::fmt;
use core::iter::Sum;
use core::ops::{Add, AddAssign, Sub};

macro_rules! unit {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);

        impl Add for $name {
            type Output = Self;
            // A damaged recording may hold any number: sums wrap instead of ending the analysis.
            fn add(self, other: Self) -> Self {
                Self(self.0.wrapping_add(other.0))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self(0), Add::add)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

unit! {
    /// An amount of memory.
    Bytes
}
unit! {
    /// A time since the command was started, or a duration, in nanoseconds.
    Nanos
}

/// A call site in [`Analysis::sites`](crate::Analysis::sites): its rank by allocated bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SiteId(pub u32);
