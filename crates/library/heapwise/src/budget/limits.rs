//! A budget: what is allowed.

use std::fmt;

/// How many of something are allowed.
///
/// ```
/// use heapwise::budget::Limit;
///
/// assert!(Limit::AtMost(3).allows(3));
/// assert!(!Limit::Below(3).allows(3));
/// assert!(!Limit::Exactly(3).allows(2));
/// assert_eq!(Limit::from(3), Limit::AtMost(3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// This many or fewer.
    AtMost(u64),
    /// Fewer than this many.
    Below(u64),
    /// Exactly this many. Fewer fail, too, so that a test notices an optimisation and can keep it.
    Exactly(u64),
}

impl Limit {
    /// Whether so many keep to it.
    ///
    /// ```
    /// assert!(heapwise::budget::Limit::Exactly(3).allows(3));
    /// ```
    #[must_use]
    pub fn allows(self, count: u64) -> bool {
        match self {
            Self::AtMost(most) => count <= most,
            Self::Below(end) => count < end,
            Self::Exactly(number) => count == number,
        }
    }
}

impl From<u64> for Limit {
    /// At most so many.
    fn from(most: u64) -> Self {
        Self::AtMost(most)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(0) | Self::Below(1) | Self::Exactly(0) => write!(f, "none allowed"),
            Self::AtMost(most) => write!(f, "at most {most} allowed"),
            Self::Below(end) => write!(f, "fewer than {end} allowed"),
            Self::Exactly(number) => write!(f, "exactly {number} expected"),
        }
    }
}

/// How much some code may allocate.
///
/// Counted are the *requests* of this thread, its allocations and reallocations, while the closure runs, including those of all
/// that it calls. Other threads are not counted, whatever they do meanwhile; those that belong to the work are, with
/// [`check_scope`](Budget::check_scope). What is dropped inside of the closure counts as freed for the
/// [peak](Budget::peak), and as nothing for the other limits.
///
/// Budgets nest: what the inner closure does is part of what the outer one does. A closure that panics is not judged; its
/// panic goes on.
///
/// # What it costs
///
/// The stack of each request is kept for the message, which takes about two microseconds; after the first 4,096 requests only
/// of some, fewer the more there are, so that ten million requests take about 20,000 stacks. Counts are exact always. The
/// memory for the stacks is allocated beforehand and not counted.
///
/// # What is easily forgotten
///
/// What happens once, such as the first use of a `LazyLock`, is a part of the closure that comes first; a call before
/// the closure keeps it out. `println!` allocates in tests, because their output is kept.
///
/// ```
/// # use heapwise_installed as _;
/// use heapwise::budget::Budget;
///
/// const SMALL: Budget = Budget::new().allocations(1).bytes(64);
///
/// let text = SMALL.check(|| "kept".to_owned()).expect("one small string");
/// assert_eq!(text, "kept");
///
/// let exceeded = SMALL.check(|| vec![0u8; 4096]).unwrap_err();
/// assert_eq!((exceeded.requests(), exceeded.bytes()), (1, 4096));
/// println!("{exceeded}"); // with the stacks of those who allocated
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "a budget does nothing until something is checked against it"]
pub struct Budget {
    pub(super) requests: Option<Limit>,
    pub(super) bytes: Option<Limit>,
    pub(super) peak: Option<Limit>,
}

impl Budget {
    /// Without any limit.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// heapwise::budget::Budget::new().assert(|| vec![1, 2, 3]);
    /// ```
    pub const fn new() -> Self {
        Self { requests: None, bytes: None, peak: None }
    }

    /// At most this many requests: allocations and reallocations.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// heapwise::budget::Budget::new().allocations(2).assert(|| vec![Box::new(1)]);
    /// ```
    pub const fn allocations(self, most: u64) -> Self {
        self.limit_allocations(Limit::AtMost(most))
    }

    /// A limit of requests that is not an upper one.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// use heapwise::budget::{Budget, Limit};
    ///
    /// Budget::new().limit_allocations(Limit::Exactly(1)).assert(|| Box::new(1));
    /// ```
    pub const fn limit_allocations(self, limit: Limit) -> Self {
        Self { requests: Some(limit), ..self }
    }

    /// At most this many bytes requested, by allocations and, with their new size, by reallocations.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// heapwise::budget::Budget::new().bytes(4096).assert(|| vec![0u8; 4096]);
    /// ```
    pub const fn bytes(self, most: u64) -> Self {
        self.limit_bytes(Limit::AtMost(most))
    }

    /// A limit of bytes that is not an upper one.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// use heapwise::budget::{Budget, Limit};
    ///
    /// Budget::new().limit_bytes(Limit::Below(4097)).assert(|| vec![0u8; 4096]);
    /// ```
    pub const fn limit_bytes(self, limit: Limit) -> Self {
        Self { bytes: Some(limit), ..self }
    }

    /// At most this many bytes live at a time, above what was live when the closure began.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// heapwise::budget::Budget::new().peak(1024).assert(|| {
    ///     for _ in 0..100 {
    ///         drop(vec![0u8; 1024]);
    ///     }
    /// });
    /// ```
    pub const fn peak(self, most: u64) -> Self {
        self.limit_peak(Limit::AtMost(most))
    }

    /// A limit of the peak that is not an upper one.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// use heapwise::budget::{Budget, Limit};
    ///
    /// Budget::new().limit_peak(Limit::Exactly(1024)).assert(|| vec![0u8; 1024]);
    /// ```
    pub const fn limit_peak(self, limit: Limit) -> Self {
        Self { peak: Some(limit), ..self }
    }
}
