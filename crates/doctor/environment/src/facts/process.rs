//! A running process.

/// What the system reports of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    /// The name of its program, as the system has it.
    pub name: String,
    pub tracer: Option<Tracer>,
    /// How many threads it has.
    pub threads: u32,
    /// How many mappings it has.
    pub mappings: u64,
    /// Bytes of it in swap.
    pub swapped_bytes: u64,
    /// Bytes of it in memory.
    pub resident_bytes: u64,
    /// Whether it has refused huge pages (`PR_SET_THP_DISABLE`).
    pub refuses_huge_pages: bool,
}

/// A process that traces another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tracer {
    pub pid: u32,
    /// The name of its program.
    pub name: String,
}
