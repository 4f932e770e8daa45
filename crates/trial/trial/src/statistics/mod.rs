//! Statistics of numbers that were measured a few times on a busy machine.
//!
//! Runs are few, disturbed, and paired: whatever is compared ran side by side in the same round. So medians and not means
//! ([`Spread`]), ranks and not normal distributions ([`signed_rank`]), and ratios within a round and not between sums
//! ([`Difference`]). How large a difference is that means nothing is measured too, by running the same thing twice in each
//! round ([`difference()`]).

mod difference;
pub mod random;
pub mod signed_rank;
mod spread;

/// A smaller difference, as a share, is a number in a table and no reason to change anything.
pub const MATTERS: f64 = 0.05;

pub use difference::{Difference, Floor, Verdict, difference};
pub use spread::Spread;
