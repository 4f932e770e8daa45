//! What the heap looks like after each event, and what that adds up to per thread, process and call site.
//!
//! The [`Ledger`] applies events in the order in which they are passed to it: [`crate::order`] finds that order.

mod exits;
mod growth;
mod handover;
mod interval;
mod ledger;
mod lifetimes;
mod live;
mod plain;
mod recent;
pub mod reconcile;
mod sampling;
mod site;
mod sizes;
mod spread;
mod timing;
mod touched_pages;

pub(crate) use growth::GrowthCounts;
pub(crate) use handover::SiteHandovers;
pub(crate) use interval::interval;
pub use interval::{Interval, Variances};
pub use ledger::CarriedSums;
pub(crate) use ledger::Ledger;
pub use lifetimes::Lifetimes;
pub(crate) use live::LiveBlock;
pub(crate) use plain::BEFORE;
pub use recent::FreedAfter;
pub use sampling::Sampled;
pub(crate) use sampling::Sampling;
pub(crate) use site::not_below_zero;
pub use sizes::{SizeClass, Sizes};
pub use spread::SizeSpread;
pub use timing::AllocatorTime;
pub(crate) use timing::{CallTimes, TickLength};
pub(crate) use touched_pages::TouchedHeap;
