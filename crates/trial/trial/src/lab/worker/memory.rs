//! What a worker's process has of the machine, as the kernel says.
//!
//! Files are read into a buffer on the stack: a measurement that allocates would change what it measures.

use serde::{Deserialize, Serialize};

/// Resident memory at one moment, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Resident pages, with those that the kernel may take back.
    pub rss_bytes: u64,
    /// The part of them that was returned to the system with `MADV_FREE`: still resident, and free to be taken.
    pub lazy_free_bytes: u64,
    /// The part of them in huge pages.
    pub huge_bytes: u64,
    /// The most that was ever resident.
    pub highest_bytes: u64,
    /// Pages that were made resident, since the process began.
    pub faults: u64,
}

impl Memory {
    /// Looks. `None` on systems where nothing is known, or if `/proc` is not there.
    #[cfg(target_os = "linux")]
    pub fn now() -> Option<Self> {
        let mut buffer = [0; 8192];
        let kib = 1024;
        let rollup = read("/proc/self/smaps_rollup", &mut buffer)?;
        let (rss, lazy, huge) =
            (field(rollup, "Rss:"), field(rollup, "LazyFree:"), field(rollup, "AnonHugePages:"));
        let highest = field(read("/proc/self/status", &mut buffer)?, "VmHWM:");
        let faults = minor_faults(read("/proc/self/stat", &mut buffer)?);
        Some(Self {
            rss_bytes: rss * kib,
            lazy_free_bytes: lazy * kib,
            huge_bytes: huge * kib,
            highest_bytes: highest.max(rss) * kib,
            faults,
        })
    }

    /// Looks. `None` on systems where nothing is known, or if `/proc` is not there.
    #[cfg(not(target_os = "linux"))]
    pub fn now() -> Option<Self> {
        None
    }
}

#[cfg(target_os = "linux")]
fn read<'a>(path: &str, buffer: &'a mut [u8]) -> Option<&'a str> {
    use std::io::Read;
    let mut file = std::fs::File::open(path).ok()?;
    let mut filled = 0;
    loop {
        match file.read(&mut buffer[filled..]).ok()? {
            0 => break,
            more => filled += more,
        }
    }
    // A name that is not text is in the line of `stat` only, behind which this looks.
    Some(std::str::from_utf8(&buffer[..filled]).unwrap_or_default())
}

/// The number behind a name at the beginning of a line; what is missing counts as nothing.
#[cfg(target_os = "linux")]
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// The tenth field of the line of `stat`, whose second one, the name in brackets, may have spaces.
#[cfg(target_os = "linux")]
fn minor_faults(stat: &str) -> u64 {
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    fields.split_whitespace().nth(7).and_then(|field| field.parse().ok()).unwrap_or(0)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_names() {
        let text =
            "5500-7ffe ---p 00:00 0 [rollup]\nRss:                2048 kB\nPss:  7 kB\nLazyFree:  64 kB\n";
        assert_eq!((field(text, "Rss:"), field(text, "LazyFree:"), field(text, "Swap:")), (2048, 64, 0));
    }

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 100 0 0 0 12 30 5 6 20 0 1 0 99";
        assert_eq!((minor_faults(stat), minor_faults("")), (100, 0));
    }

    #[test]
    fn what_is_touched_becomes_resident() {
        // The tests beside this one free memory meanwhile, but not each time.
        let is_seen = || {
            let before = Memory::now().unwrap();
            let block = std::hint::black_box(vec![1_u8; 128 << 20]);
            let after = Memory::now().unwrap();
            assert!(
                after.highest_bytes >= after.rss_bytes && after.faults > before.faults,
                "{before:?} {after:?}"
            );
            drop(block);
            after.rss_bytes >= before.rss_bytes + (96 << 20)
        };
        assert!((0..20).any(|_| is_seen()));
    }
}
