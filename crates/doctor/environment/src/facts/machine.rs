//! The machine, and what part of it a process may use.

/// What the system gives to processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Processors that the process may use.
    pub processors: u32,
    /// When memory comes in huge pages.
    pub thp: Option<Thp>,
    /// `vm.overcommit_memory`: 0 by heuristic, 1 always, 2 never.
    pub overcommit: Option<u8>,
    /// Bytes that may be promised yet, if the system never promises more than it has.
    pub commit_left_bytes: Option<u64>,
    /// `vm.max_map_count`.
    pub max_map_count: Option<u64>,
    /// The control group that bounds the process's memory.
    pub cgroup: Option<Cgroup>,
    pub limits: Limits,
    /// What `/etc/malloc.conf` points to: options of jemalloc for every program of the machine.
    pub malloc_conf: Option<String>,
    /// Huge pages that were set aside, of the kind that has to be.
    pub huge_page_pool: Option<u64>,
    /// Version of glibc, major and minor.
    pub glibc: Option<(u32, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thp {
    /// Whenever a mapping is large enough.
    Always,
    /// Where the program has requested them.
    Madvise,
    Never,
}

/// A control group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cgroup {
    /// Its path below the hierarchy.
    pub path: String,
    /// Bytes that it has.
    pub current_bytes: Option<u64>,
    /// Bytes above which its processes are slowed down.
    pub high_bytes: Option<u64>,
    /// Bytes above which it is out of memory.
    pub max_bytes: Option<u64>,
    /// How often its processes were slowed down.
    pub high_events: u64,
    /// How often it was at its bound.
    pub max_events: u64,
    /// Share of the last ten seconds in which some process waited for memory, in hundredths of a percent.
    pub waiting_share: Option<u32>,
}

/// Limits that `ulimit` sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of address space.
    pub address_space_bytes: Option<u64>,
    /// Bytes of the data segment, which on Linux are all private writable mappings.
    pub data_bytes: Option<u64>,
}
