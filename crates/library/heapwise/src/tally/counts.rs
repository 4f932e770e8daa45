//! How often, and how much.

use std::ops::{Add, AddAssign, Sub};

/// Counts of calls to the allocator.
///
/// ```
/// # use heapwise_installed as _;
/// let session = heapwise::Session::new();
/// let operation = session.operation("a list that grows");
/// {
///     let _span = operation.measure_thread();
///     let mut list = Vec::with_capacity(4);
///     list.extend([1u64, 2, 3, 4, 5]);
/// }
/// let counts = operation.total();
/// assert_eq!((counts.allocations, counts.reallocations, counts.deallocations), (1, 1, 1));
/// assert_eq!(counts.requests(), 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Blocks that were handed out.
    ///
    /// A refused request is not counted, with one exception: over the system's allocator, jemalloc, mimalloc and snmalloc, one of less than
    /// 64 KiB may be counted before it is passed on. These refuse so little only when the process gets no more memory (or when a library in
    /// front of them refuses on purpose), and most programs end then. The same holds for reallocations and bytes.
    pub allocations: u64,
    /// Blocks that were resized, whether they moved or not.
    pub reallocations: u64,
    /// Blocks that were freed.
    pub deallocations: u64,
    /// Bytes requested, by allocations and, with their new size, by reallocations.
    pub allocated_bytes: u64,
    /// Bytes freed, by deallocations and, with the old size, by reallocations.
    pub freed_bytes: u64,
}

impl Counts {
    /// Allocations and reallocations: the number of requests for memory.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # fn main() {
    /// let session = heapwise::Session::new();
    /// let operation = session.operation("two");
    /// {
    ///     let _span = operation.measure_thread();
    ///     drop([Box::new(1), Box::new(2)]);
    /// }
    /// assert_eq!(operation.total().requests(), 2);
    /// # }
    /// ```
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.allocations + self.reallocations
    }

    /// Bytes that were allocated and not freed. Negative where blocks were freed that others had allocated.
    ///
    /// ```
    /// # use heapwise_installed as _;
    /// # fn main() {
    /// let session = heapwise::Session::new();
    /// let operation = session.operation("what stays");
    /// let span = operation.measure_thread();
    /// let block = Box::new([0u8; 100]);
    /// drop(span);
    /// assert_eq!(operation.total().net_bytes(), 100);
    /// # drop(block);
    /// # }
    /// ```
    #[must_use]
    pub fn net_bytes(&self) -> i64 {
        self.allocated_bytes.wrapping_sub(self.freed_bytes) as i64
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            allocations: self.allocations.wrapping_sub(before.allocations),
            reallocations: self.reallocations.wrapping_sub(before.reallocations),
            deallocations: self.deallocations.wrapping_sub(before.deallocations),
            allocated_bytes: self.allocated_bytes.wrapping_sub(before.allocated_bytes),
            freed_bytes: self.freed_bytes.wrapping_sub(before.freed_bytes),
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            allocations: self.allocations.wrapping_add(other.allocations),
            reallocations: self.reallocations.wrapping_add(other.reallocations),
            deallocations: self.deallocations.wrapping_add(other.deallocations),
            allocated_bytes: self.allocated_bytes.wrapping_add(other.allocated_bytes),
            freed_bytes: self.freed_bytes.wrapping_add(other.freed_bytes),
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}
