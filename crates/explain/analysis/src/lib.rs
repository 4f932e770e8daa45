//! From a recording to tables. Pure: it reads a stream that it is given and prints nothing.
//!
//! The words it uses:
//!
//! * a *block* is what an allocation hands out; it is *live* until it is freed;
//! * a *stack* is the chain of calls that led to an event, a *site* all events with the same stack;
//! * the *peak* is the moment at which the requested bytes of all live blocks, over all processes, were highest;
//! * a *temporary* allocation was freed before its thread allocated again, a *short-lived* one within a few allocations of it
//!   ([`FreedAfter`]);
//! * the *user's nearest frame* of a stack is the innermost one that the user wrote ([`owner`]).
//!
//! One key decision: a recording is read once, from front to back, in memory that does not grow with its length. So
//! every number is an account that is kept while the events pass, in the one order that the
//! threads' epochs allow, and names are given to the sites at the end, when all stacks and modules are known. Symbols
//! may come even later ([`Unnamed::named`]), since finding them needs the addresses that turned up.
//!
//! ```text
//! Reader → sections → order of events → ledger → raw sites ┐
//!                  └→ nodes, modules, symbols ─────────────┴→ Analysis
//! ```

#![forbid(unsafe_code)]

mod account;
mod accounting;
mod addresses;
mod ahead;
mod analysis;
mod analyze;
mod arriving;
pub mod buckets;
mod budget;
mod by_allocator;
mod carry;
mod clock;
mod error;
mod exact;
mod files;
mod finish;
mod follow;
mod heap;
mod main_allocator;
mod marks;
mod measure;
mod observer;
mod order;
mod residency;
mod shape;
mod sites;
mod stacks;
mod sums_by_allocator;
mod timeline;
mod totals;
pub mod units;
mod unnamed;
mod warning;
mod without_lines;

pub use account::{Heap, account_for};
pub use accounting::{Accounting, Breakdown, PageMap, PageRegion, Pinned};
pub use addresses::addresses;
pub use ahead::{Ahead, analyze};
pub use analysis::{
    Analysis, EXIT_PARTS, Growth, Handover, Memory, MemorySample, OutsideTime, Process, Site, StackQuality,
    Thread,
};
pub use analyze::{Options, observe};
pub use by_allocator::{OfAllocator, Parts};
pub use carry::live_blocks;
pub use error::{Error, ErrorKind};
pub use exact::{ExactSite, Numbers, Place, PlaceId};
pub use files::{FileSums, LineSums};
pub use follow::{Follow, MomentSums, StackPlace, StackSums, ThreadSums};
pub use heap::{
    AllocatorTime, CarriedSums, FreedAfter, Interval, Lifetimes, Sampled, SizeClass, SizeSpread, Sizes,
    Variances, reconcile,
};
pub use heapwise_trace::event::{AllocatorNumber, MarkKind};
pub use heapwise_trace::file::records::{
    AllocatorInside, BlindSpot, CLibrary, EnvironmentFinding, Interception,
};
pub use marks::{Mark, MarkMoment, Marks, Span};
pub use measure::Measure;
pub use observer::{Moment, Observer};
pub use stacks::contexts::{CallSpot, Context};
pub use stacks::frame::{Frame, ImageAddresses};
pub use stacks::modules::Image;
pub use stacks::owner;
pub use timeline::{MOST_POINTS, Timeline};
pub use totals::Totals;
pub use units::{Bytes, Nanos, SiteId};
pub use unnamed::Unnamed;
pub use warning::Warning;
pub use without_lines::WithoutLines;
