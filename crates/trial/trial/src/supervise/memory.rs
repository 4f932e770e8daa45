//! How much memory a process has, as the kernel counts it.

use procfs::process::{ClearRefs, Process, SmapsRollup};

/// Resident memory by the exact count, which takes the kernel a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resident {
    pub rss_bytes: u64,
    /// The same with each page that other processes have, too, as its share of it.
    pub pss_bytes: u64,
    /// The part that belongs to no file.
    pub anonymous_bytes: u64,
    /// The part that was freed already, and is taken when the kernel needs it (`MADV_FREE`); `None` if it is not known.
    pub lazily_freed_bytes: Option<u64>,
}

impl Resident {
    /// That of a process; `None` if it may not be looked at, or is gone.
    pub fn of(pid: i32) -> Option<Self> {
        Self::of_rollup(&Process::new(pid).ok()?.smaps_rollup().ok()?)
    }

    fn of_rollup(rollup: &SmapsRollup) -> Option<Self> {
        let fields = &rollup.memory_map_rollup.0.first()?.extension.map;
        let field = |name: &str| fields.get(name).copied();
        Some(Self {
            rss_bytes: field("Rss")?,
            pss_bytes: field("Pss")?,
            anonymous_bytes: field("Anonymous")?,
            lazily_freed_bytes: field("LazyFree"),
        })
    }
}

/// Resident memory by the quick count, all of it and what belongs to no file and is not shared: the kernel's counters lag behind
/// by some pages for each processor.
pub fn quick(pid: i32) -> Option<(u64, u64)> {
    let pages = Process::new(pid).ok()?.statm().ok()?;
    let anonymous = pages.resident.saturating_sub(pages.shared);
    Some((pages.resident * procfs::page_size(), anonymous * procfs::page_size()))
}

/// The most resident bytes that a process had since it became this program, and what it has now of files and shared memory.
pub fn highest(pid: i32) -> Option<(u64, u64)> {
    let status = Process::new(pid).ok()?.status().ok()?;
    Some((status.vmhwm? << 10, (status.rssfile? + status.rssshmem?) << 10))
}

/// Forgets what was highest so far.
pub fn reset_highest(pid: i32) {
    // It fails where the system does not let us, and then the start of the process counts as well.
    let _ = Process::new(pid).and_then(|process| process.clear_refs(ClearRefs::PeakRSS));
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::FromBufRead;

    #[test]
    fn the_own_process_is_known() {
        let pid = std::process::id() as i32;
        let resident = Resident::of(pid).unwrap();
        assert!(resident.rss_bytes > 1 << 20 && resident.lazily_freed_bytes.is_some(), "{resident:?}");
        assert!(resident.pss_bytes <= resident.rss_bytes && resident.anonymous_bytes < resident.rss_bytes);
        let (all, files) = highest(pid).unwrap();
        assert!(all > 1 << 20 && files > 0 && files < all);
        let (all, anonymous) = quick(pid).unwrap();
        assert!(all > 1 << 20 && anonymous > 0 && anonymous < all);
        assert_eq!((Resident::of(i32::MAX), quick(i32::MAX), highest(i32::MAX)), (None, None, None));
    }

    #[test]
    fn a_rollup_has_what_was_freed_lazily() {
        let head = "5500-7ffc ---p 00000000 00:00 0 [rollup]\n";
        let of = |text: &str| Resident::of_rollup(&SmapsRollup::from_buf_read(text.as_bytes()).unwrap());
        let all = "Rss:     2048 kB\nPss:   1024 kB\nAnonymous:   4 kB\nLazyFree:     512 kB\n";
        let resident = of(&format!("{head}{all}")).unwrap();
        assert_eq!((resident.rss_bytes, resident.lazily_freed_bytes), (2 << 20, Some(512 << 10)));
        assert_eq!((resident.pss_bytes, resident.anonymous_bytes), (1 << 20, 4 << 10));
        assert_eq!(of(head), None);
    }
}
