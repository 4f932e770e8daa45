//! Marks and spans of the program: marks, which are moments with a name, and spans, which have a begin and an end
//! on one thread.
//!
//! * [`account`] keeps which spans are open on which thread, and what was allocated inside of those that ended;
//! * [`list`] keeps single marks for a timeline, evenly thinned if there are very many;
//! * [`rss`] remembers what was resident a moment ago.
//!
//! One key decision: what a span allocated is what its own thread did between begin and end, from the exact counts of that
//! thread. It is *inclusive*: a span inside of another one counts in both.

mod account;
mod list;
mod names;
mod rss;

pub(crate) use account::{MarkAccount, Now};
pub(crate) use names::Names;

use crate::units::{Bytes, Nanos};
use heapwise_trace::event::{MarkId, MarkKind};
use heapwise_trace::file::records::{ProcessIndex, ThreadIndex};
use std::sync::Arc;

/// A name of a process.
pub(crate) type Key = (u32, MarkId);

/// All marks and spans of a recording.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Single marks in the order in which they happened. At most some thousands: of a name with very many every second, fourth,
    /// … one.
    pub list: Vec<Mark>,
    /// All marks, listed or not; a span has two.
    pub total: u64,
    /// Spans by their names, most allocated bytes first.
    pub spans: Vec<Span>,
}

impl Marks {
    /// How many marks are in [`Marks::list`]; a span has two.
    pub fn listed(&self) -> u64 {
        self.list.iter().map(|mark| 1 + u64::from(mark.end.is_some())).sum()
    }

    /// How many marks there are no details of.
    pub fn not_listed(&self) -> u64 {
        self.total.saturating_sub(self.listed())
    }

    /// Whether the program made no marks.
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The list by time, with the ends of spans as separate marks.
    pub fn moments(&self) -> Vec<(MarkKind, MarkMoment, &Mark)> {
        let begins = self.list.iter().map(|mark| (mark.kind, mark.at, mark));
        let ends = self.list.iter().filter_map(|mark| Some((MarkKind::End, mark.end?, mark)));
        let mut all: Vec<_> = begins.chain(ends).collect();
        all.sort_by_key(|(_, moment, _)| moment.order);
        all
    }
}

/// A mark, or a span as a whole.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its name in the program. Text from outside: it may be anything.
    pub name: Arc<str>,
    /// The process that made it.
    pub process: ProcessIndex,
    pub thread: ThreadIndex,
    /// A moment, the begin of a span, or an end whose begin was not seen.
    pub kind: MarkKind,
    pub at: MarkMoment,
    /// When the span ended, if that was seen.
    pub end: Option<MarkMoment>,
}

/// The moment of a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkMoment {
    /// When, as precise as the clock of the recording: about a millisecond.
    pub time: Nanos,
    /// Live bytes of all processes together.
    pub live: Bytes,
    /// Resident bytes of all processes together as they were last measured before, if they were.
    pub rss: Option<Bytes>,
    /// Which mark of the recording it is: orders those of the same time.
    pub(crate) order: u64,
}

/// All spans of one name. Times and amounts are those of spans whose begin and end were seen, by what their own thread did;
/// spans inside of them included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Its name in the program. Text from outside: it may be anything.
    pub name: Arc<str>,
    /// How often it began and ended.
    pub count: u64,
    /// How long all of them took together.
    pub time: Nanos,
    /// How long the shortest took.
    pub shortest: Nanos,
    /// How long the longest took.
    pub longest: Nanos,
    /// Blocks that were handed out.
    pub allocations: u64,
    /// Blocks that were resized.
    pub reallocations: u64,
    /// Blocks that were freed.
    pub deallocations: u64,
    /// Requested bytes of allocations and reallocations.
    pub allocated_bytes: Bytes,
    /// By how many bytes the live blocks that its thread had been handed had grown at most from begin to end. Negative if they
    /// shrank each time.
    pub largest_growth_bytes: i64,
    /// Begins without an end: the thread or the recording ended before, or another thread ended the span.
    pub unended: u64,
    /// Ends without a begin: it was before the recording, in the parent process, or on another thread.
    pub unbegun: u64,
}
