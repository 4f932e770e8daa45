//! What is known of operations, as a value.

use super::metrics::{FirstSpan, LaterSpans, Metrics, PerIteration};
use super::own::Own;
use crate::Counts;
use crate::output::CountsJson;
use serde::Serialize;

/// What is known of the operations of a session at a moment. [`Session::to_report`](crate::Session::to_report) makes one.
///
/// It may be copied, sent elsewhere, and merged with others. `Display` is the table:
///
/// ```
/// # use heapwise_installed as _;
/// let session = heapwise::Session::new();
/// {
///     let _span = session.operation("bytes").measure_thread();
///     drop(std::hint::black_box(vec![0u8; 1234]));
/// }
/// let expected = "\
/// | Operation | Mean bytes | Mean count | Peak live bytes |
/// |-----------|------------|------------|-----------------|
/// | bytes     |       1234 |          1 |            1234 |
/// ";
/// assert_eq!(session.to_report().to_string(), expected);
/// ```
///
/// *Mean bytes* are those that one iteration requests, *mean count* is the number of its requests: allocations and reallocations.
/// *Peak live bytes* are the most of a single span, above the level at its begin, and `?` if it is unknown for all spans.
#[derive(Clone, Debug)]
pub struct Report {
    operations: Own<Vec<OperationReport>>,
}

impl Report {
    pub(super) fn new(operations: impl FnOnce() -> Vec<OperationReport>) -> Self {
        Self { operations: Own::make(operations) }
    }

    /// The operations, in the order in which they were named.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// drop(session.operation("b").measure_thread());
    /// drop(session.operation("a").measure_thread());
    /// let report = session.to_report();
    /// assert_eq!(report.operations().map(|operation| operation.name()).collect::<Vec<_>>(), ["b", "a"]);
    /// ```
    pub fn operations(&self) -> impl ExactSizeIterator<Item = &OperationReport> {
        self.operations.iter()
    }

    /// The operation of a name.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// drop(session.operation("a").measure_thread());
    /// let report = session.to_report();
    /// assert!(report.get("a").is_some() && report.get("b").is_none());
    /// ```
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OperationReport> {
        self.operations().find(|operation| operation.name() == name)
    }

    /// Whether there were no spans.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("a");
    /// assert!(session.to_report().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Both reports as one. Operations of the same name become one, whose first span is that of `a`; that of `b` is one of its
    /// later ones.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// use heapwise::{Report, Session};
    ///
    /// let (one, other) = (Session::new(), Session::new());
    /// drop(one.operation("both").measure_thread());
    /// drop(other.operation("both").measure_thread().iterations(4));
    /// drop(other.operation("only here").measure_thread());
    /// let merged = Report::merge(&one.to_report(), &other.to_report());
    /// assert_eq!(merged.get("both").expect("it is there").iterations(), 5);
    /// assert_eq!(merged.operations().len(), 2);
    /// ```
    #[must_use]
    pub fn merge(a: &Self, b: &Self) -> Self {
        Self::new(|| {
            let mut operations = a.operations.to_vec();
            for operation in b.operations() {
                match operations.iter_mut().find(|known| known.name == operation.name) {
                    Some(known) => known.metrics.merge(&operation.metrics),
                    None => operations.push(operation.clone()),
                }
            }
            operations
        })
    }

    /// The report as JSON, schema `heapwise.operations/1`:
    ///
    /// ```text
    /// { "schema": "heapwise.operations/1", "heapwise": "0.1.0",
    ///   "operations": [
    ///     { "name": "parse", "spans": 3, "iterations": 30, "unfinished_spans": 0, "late_guards": 0,
    ///       "total": COUNTS, "mean": MEAN, "peak_live_bytes": 4096,
    ///       "first": { "iterations": 10, "total": COUNTS, "peak_live_bytes": 4096 },
    ///       "later": { "spans": 2, "iterations": 20, "mean": MEAN, "min": MEAN, "max": MEAN, "standard_deviation": MEAN } } ] }
    /// ```
    ///
    /// `COUNTS` has `requests`, `allocations`, `reallocations`, `deallocations`, `allocated_bytes` and `freed_bytes`; `MEAN` has the
    /// same with fractions, per iteration. `mean` and `first` are null without a span that has ended, `later` with no more than one,
    /// `peak_live_bytes` where it is not known.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// drop(session.operation("nothing").measure_thread());
    /// let json: serde_json::Value = serde_json::from_str(&session.to_report().to_json()).expect("it is JSON");
    /// assert_eq!(json["schema"], "heapwise.operations/1");
    /// assert_eq!(json["operations"][0]["total"]["requests"], 0);
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        let operations = self.operations().map(OperationJson::from).collect();
        let heapwise = env!("CARGO_PKG_VERSION");
        crate::output::json(&Document { schema: SCHEMA, heapwise, operations })
    }
}

/// What is known of one operation.
///
/// ```
/// # use heapwise_installed as _;
/// let session = heapwise::Session::new();
/// let operation = session.operation("grow");
/// for capacity in [16, 32] {
///     let _span = operation.measure_thread();
///     let mut text = String::with_capacity(capacity);
///     text.push_str("a text of twenty-three");
/// }
/// let report = operation.report();
/// assert_eq!(report.total().allocations, 2);
/// assert_eq!(report.total().reallocations, 1);
/// assert_eq!(report.later().expect("there is one").max.reallocations, 0.0);
/// ```
#[derive(Clone, Debug)]
pub struct OperationReport {
    name: Box<str>,
    metrics: Metrics,
}

impl OperationReport {
    pub(super) fn new(name: &str, metrics: Metrics) -> Self {
        Self { name: name.into(), metrics }
    }

    /// Its name.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// assert_eq!(operation.report().name(), "example");
    /// ```
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Spans that have ended as they should.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// drop(operation.measure_thread());
    /// assert_eq!(operation.report().spans(), 1);
    /// ```
    #[must_use]
    pub fn spans(&self) -> u64 {
        self.metrics.spans()
    }

    /// The iterations of these spans.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// drop(operation.measure_thread().iterations(9));
    /// assert_eq!(operation.report().iterations(), 9);
    /// ```
    #[must_use]
    pub fn iterations(&self) -> u64 {
        self.metrics.iterations()
    }

    /// Spans of which nothing else is known: a panic has ended them, or they had no iterations, or were futures that were dropped
    /// before they were ready.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// drop(operation.measure_thread().iterations(0));
    /// assert_eq!(operation.report().unfinished_spans(), 1);
    /// ```
    #[must_use]
    pub fn unfinished_spans(&self) -> u64 {
        self.metrics.unfinished()
    }

    /// How often a thread was in a [`Scope`](crate::Scope) when that ended, or came when it had: what it did is missing.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// let handle = operation.measure_scope().handle();
    /// handle.run(|| "the scope has ended already");
    /// assert_eq!(operation.report().late_guards(), 1);
    /// ```
    #[must_use]
    pub fn late_guards(&self) -> u64 {
        self.metrics.late()
    }

    /// What all iterations did together.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// let span = operation.measure_thread();
    /// let kept = vec![0u8; 50];
    /// drop(span);
    /// assert_eq!(operation.report().total().net_bytes(), 50);
    /// # drop(kept);
    /// ```
    #[must_use]
    pub fn total(&self) -> Counts {
        self.metrics.total()
    }

    /// What one iteration does: the total by the iterations. `None` if no span has ended as it should.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// assert_eq!(operation.report().mean(), None);
    /// ```
    #[must_use]
    pub fn mean(&self) -> Option<PerIteration> {
        self.metrics.mean()
    }

    /// The first span that has ended; a part of [`total`](Self::total) and [`mean`](Self::mean), and also reported separately,
    /// since it may include work that is done once.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// drop(operation.measure_thread().iterations(3));
    /// assert_eq!(operation.report().first().map(|span| span.iterations), Some(3));
    /// ```
    #[must_use]
    pub fn first(&self) -> Option<FirstSpan> {
        self.metrics.first()
    }

    /// All other spans, and how they differ. `None` if there are none.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// for n in 0..5 {
    ///     let _span = operation.measure_thread();
    ///     drop(std::hint::black_box(vec![0u8; n * 10]));
    /// }
    /// let later = operation.report().later().expect("there are four");
    /// assert_eq!((later.min.allocated_bytes, later.max.allocated_bytes), (10.0, 40.0));
    /// ```
    #[must_use]
    pub fn later(&self) -> Option<LaterSpans> {
        self.metrics.later()
    }

    /// The most bytes that were live in a span above what was live at its begin. `None` if it is unknown for all spans.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # let session = heapwise::Session::new();
    /// let operation = session.operation("example");
    /// for bytes in [30, 70, 20] {
    ///     let _span = operation.measure_thread();
    ///     drop(std::hint::black_box(vec![0u8; bytes]));
    /// }
    /// assert_eq!(operation.report().peak_live_bytes(), Some(70));
    /// ```
    #[must_use]
    pub fn peak_live_bytes(&self) -> Option<u64> {
        self.metrics.peak()
    }
}

/// The value of the field `schema`.
pub(crate) const SCHEMA: &str = "heapwise.operations/1";

/// What operations allocate.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub(crate) struct Document<'report> {
    /// The name and version of this schema.
    #[cfg_attr(test, schemars(extend("const" = SCHEMA)))]
    schema: &'static str,
    /// The version of heapwise.
    heapwise: &'static str,
    /// Each operation that was measured.
    operations: Vec<OperationJson<'report>>,
}

/// What an operation allocates.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct OperationJson<'report> {
    /// Its name.
    name: &'report str,
    /// Spans that have ended as they should.
    spans: u64,
    /// The iterations that they covered together.
    iterations: u64,
    /// Spans that a panic ended, without iterations, or of futures that were dropped too early.
    unfinished_spans: u64,
    /// How often what a thread did for a scope came too late and is missing.
    late_guards: u64,
    /// What all spans did.
    total: CountsJson,
    /// The mean per iteration; null without a span that has ended.
    mean: Option<PerIteration>,
    /// The most live bytes of a span above the level at its begin; null where it is not known.
    peak_live_bytes: Option<u64>,
    /// The first span; null without one that has ended.
    first: Option<FirstJson>,
    /// The spans after it; null without one.
    later: Option<LaterSpans>,
}

/// The first span.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
struct FirstJson {
    /// The iterations that it covered.
    iterations: u64,
    /// What it did.
    total: CountsJson,
    /// Its most live bytes above the level at its begin; null where it is not known.
    peak_live_bytes: Option<u64>,
}

impl<'report> From<&'report OperationReport> for OperationJson<'report> {
    fn from(operation: &'report OperationReport) -> Self {
        let first = |span: FirstSpan| FirstJson {
            iterations: span.iterations,
            total: CountsJson::from(&span.total),
            peak_live_bytes: span.peak_live_bytes,
        };
        Self {
            name: operation.name(),
            spans: operation.spans(),
            iterations: operation.iterations(),
            unfinished_spans: operation.unfinished_spans(),
            late_guards: operation.late_guards(),
            total: CountsJson::from(&operation.total()),
            mean: operation.mean(),
            peak_live_bytes: operation.peak_live_bytes(),
            first: operation.first().map(first),
            later: operation.later(),
        }
    }
}
