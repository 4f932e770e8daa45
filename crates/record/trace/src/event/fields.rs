//! What events consist of.

/// A value of the session's shared counter. Events of different threads are ordered by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

/// The innermost node of a stack in the process's trie of stacks; see [`crate::live::node`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StackId(pub u32);

impl StackId {
    /// No stack could be recorded (the trie is full, or the thread's state could not be had).
    pub const UNKNOWN: StackId = StackId(0);
}

/// The address of a block in the recorded process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockAddress(pub u64);

/// Which function handed a block out. A replay needs it, since each has its own guarantees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AllocFunction {
    /// `malloc`, and `operator new` that arrives through it.
    #[default]
    Malloc = 0,
    /// `calloc`: zeroed.
    Calloc = 1,
    /// `realloc(NULL, n)` and `reallocarray(NULL, …)`.
    Realloc = 2,
    /// `posix_memalign`.
    PosixMemalign = 3,
    /// `aligned_alloc`.
    AlignedAlloc = 4,
    Memalign = 5,
    Valloc = 6,
    Pvalloc = 7,
    /// `operator new` of an allocator that does not go through `malloc`.
    New = 8,
}

impl AllocFunction {
    /// The function of a code in a recording, `Malloc` for one that this version does not know.
    pub fn from_code(code: u8) -> Self {
        match code {
            1 => Self::Calloc,
            2 => Self::Realloc,
            3 => Self::PosixMemalign,
            4 => Self::AlignedAlloc,
            5 => Self::Memalign,
            6 => Self::Valloc,
            7 => Self::Pvalloc,
            8 => Self::New,
            _ => Self::Malloc,
        }
    }
}

/// Which of a process's allocators handed a block out. What the others are is said at the end of a recording
/// (`AllocatorInside::number`), for all processes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocatorNumber(pub u8);

impl AllocatorNumber {
    /// The one whose functions are found by their names: the C library's, or one in front of it.
    pub const BY_NAME: Self = Self(0);
    /// The highest number, which stands for all that have none of their own.
    pub const OTHERS: Self = Self(63);
}

/// The name of a mark or a span in its process's table of names; see [`crate::live::marks`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarkId(pub u32);

impl MarkId {
    /// A name for which the table had no room.
    pub const OTHER: MarkId = MarkId(0);
}

/// What a mark says of its moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MarkKind {
    /// Something happened.
    #[default]
    Point = 0,
    /// A span begins on this thread.
    Begin = 1,
    /// The span of this name that began last on this thread ends.
    End = 2,
}

impl MarkKind {
    /// The kind of a code; `None` for one that does not exist.
    pub fn from_code(code: u64) -> Option<Self> {
        match code {
            0 => Some(Self::Point),
            1 => Some(Self::Begin),
            2 => Some(Self::End),
            _ => None,
        }
    }
}

/// How many pages of a large block were resident when it was freed, if that was measured.
pub type TouchedPages = Option<u32>;
