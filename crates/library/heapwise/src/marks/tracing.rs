//! Spans of the crate `tracing` on the timeline of a recording.
//!
//! ```standalone_crate
//! use tracing_subscriber::prelude::*;
//!
//! tracing_subscriber::registry().with(heapwise::tracing::MarkLayer::new()).init();
//!
//! let _span = tracing::info_span!("load", path = "a.json").entered();
//! tracing::info!("read");
//! ```

use crate::record::{self, Mark};
use tracing_core::{Event, Subscriber, span};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

/// A layer for `tracing-subscriber` that makes a [span](crate::span) of each time a span is entered, and with
/// [`events`](Self::events) a [mark](crate::mark) of each event.
///
/// Entered means: running on this thread. A span of an asynchronous function is entered at each poll, so what other tasks
/// allocate in between is not in it. The names are those of the spans, without their fields; for events, their targets. Names
/// should not contain what differs each time.
///
/// Which spans are taken is decided as for every layer, with a filter of `tracing-subscriber`.
///
/// ```standalone_crate
/// use tracing_subscriber::prelude::*;
/// use tracing_subscriber::filter::LevelFilter;
///
/// let marks = heapwise::tracing::MarkLayer::new().events().with_filter(LevelFilter::INFO);
/// tracing_subscriber::registry().with(marks).init();
/// ```
#[derive(Clone, Debug, Default)]
pub struct MarkLayer {
    events: bool,
}

impl MarkLayer {
    /// A layer for spans.
    ///
    /// ```
    /// let layer = heapwise::tracing::MarkLayer::new();
    /// # let _ = layer;
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a mark of each event, too. Programs that log much get many.
    ///
    /// ```
    /// let layer = heapwise::tracing::MarkLayer::new().events();
    /// # let _ = layer;
    /// ```
    #[must_use]
    pub fn events(mut self) -> Self {
        self.events = true;
        self
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for MarkLayer {
    fn on_enter(&self, id: &span::Id, context: Context<'_, S>) {
        if let Some(span) = context.metadata(id) {
            record::mark(Mark::Begin, span.name());
        }
    }

    fn on_exit(&self, id: &span::Id, context: Context<'_, S>) {
        if let Some(span) = context.metadata(id) {
            record::mark(Mark::End, span.name());
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if self.events {
            record::mark(Mark::Moment, event.metadata().target());
        }
    }
}
