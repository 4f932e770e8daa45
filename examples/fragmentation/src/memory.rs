//! What this process has of the machine, as the kernel says.
//!
//! The files are read into a buffer on the stack: a measurement that allocates would change what it measures.

use std::fs::File;
use std::io::{self, Read};

/// Resident memory and processor time at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Resident pages, in KiB, with those that the kernel may take back.
    pub(crate) rss_kib: u64,
    /// The part of them that was returned to the system with `MADV_FREE`: still resident, and free to be taken.
    pub(crate) lazy_free_kib: u64,
    /// The most that was ever resident, in KiB.
    pub(crate) highest_kib: u64,
    /// Processor time of all threads, those that have ended among them, in milliseconds.
    pub(crate) cpu_ms: u64,
}

/// Linux counts processor time in hundredths of a second wherever it tells programs of it.
const MILLISECONDS_PER_TICK: u64 = 10;

impl Memory {
    /// Looks.
    ///
    /// # Errors
    /// If `/proc` is not there.
    pub(crate) fn now() -> io::Result<Self> {
        let mut buffer = [0; 8192];
        let rollup = read("/proc/self/smaps_rollup", &mut buffer)?;
        let (rss_kib, lazy_free_kib) = (field(rollup, "Rss:"), field(rollup, "LazyFree:"));
        let highest_kib = field(read("/proc/self/status", &mut buffer)?, "VmHWM:");
        let cpu_ms = ticks(read("/proc/self/stat", &mut buffer)?) * MILLISECONDS_PER_TICK;
        Ok(Self { rss_kib, lazy_free_kib, highest_kib: highest_kib.max(rss_kib), cpu_ms })
    }
}

fn read<'a>(path: &str, buffer: &'a mut [u8]) -> io::Result<&'a str> {
    let mut file = File::open(path)?;
    let mut filled = 0;
    loop {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            more => filled += more,
        }
    }
    // A name that is not text is in the line of `stat` only, behind which this looks.
    Ok(std::str::from_utf8(&buffer[..filled]).unwrap_or_default())
}

/// The number behind a name at the beginning of a line; what is missing counts as nothing.
fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// User and system time of the line of `stat`, whose second field, the name in brackets, may have spaces.
fn ticks(stat: &str) -> u64 {
    let Some((_, fields)) = stat.rsplit_once(')') else { return 0 };
    fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_names() {
        let text =
            "5500-7ffe ---p 00:00 0 [rollup]\nRss:                2048 kB\nPss:  7 kB\nLazyFree:  64 kB\n";
        assert_eq!((field(text, "Rss:"), field(text, "LazyFree:"), field(text, "Swap:")), (2048, 64, 0));
    }

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_shift_the_times() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194304 100 0 0 0 12 30 5 6 20 0 1 0 99";
        assert_eq!(ticks(stat), 42);
        assert_eq!(ticks(""), 0);
    }

    #[test]
    fn what_is_touched_becomes_resident() {
        let before = Memory::now().unwrap();
        let block = std::hint::black_box(vec![1_u8; 128 << 20]);
        let after = Memory::now().unwrap();
        // The tests beside this one free some megabytes meanwhile.
        assert!(after.rss_kib >= before.rss_kib + (96 << 10), "{before:?} {after:?}");
        assert!(after.highest_kib >= after.rss_kib);
        drop(block);
    }
}
