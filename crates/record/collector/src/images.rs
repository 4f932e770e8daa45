//! Object files that processes have mapped as code: which ones there are, and how far their static data reaches.
//!
//! Static data that is all zeroes takes no room in a file. In a process it is anonymous memory behind the file's own
//! mappings, and looks like any other that the program has mapped there. The file's headers say how long it is.

use crate::maps::Line;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;

/// Files that are looked at in one recording. Each is opened once, while rings fill.
const MOST_IMAGES: usize = 4096;
/// Mappings of one file before that of its code.
const MOST_BEFORE_CODE: usize = 16;
/// What the kernel calls the preloaded library, which has no name among the files.
const RECORDER: &str = "/memfd:heapwise-preload (deleted)";
/// Bytes in which the headers of a file lie.
const HEADER_BYTES: usize = 4096;

/// The files that were seen so far.
#[derive(Debug, Default)]
pub(crate) struct Images {
    /// By device and inode.
    known: HashMap<((u32, u32), u64), Image>,
}

#[derive(Debug)]
struct Image {
    path: PathBuf,
    /// Bytes from its first address to the end of its static data; 0 if its headers could not be read.
    span: u64,
}

impl Images {
    /// Where in a process files are loaded, with their static data. `lines` are the process's mappings.
    pub(crate) fn loaded(&mut self, pid: u32, lines: &[Line<'_>], page_bytes: u64) -> Vec<Range<u64>> {
        let mut loaded = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            if !line.executable || line.shared || line.inode == 0 {
                continue;
            }
            let before = lines[..=at].iter().rev().take(MOST_BEFORE_CODE);
            let mut same = before.filter(|l| (l.device, l.inode) == (line.device, line.inode));
            let Some(first) = same.find(|l| l.offset == 0) else { continue };
            let span = match line.name {
                RECORDER => span_of_recorder(pid, first, page_bytes),
                _ => self.span(pid, line, page_bytes),
            };
            if span > 0 {
                loaded.push(first.range.start..first.range.start.saturating_add(span));
            }
        }
        loaded
    }

    /// The paths of all files.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> = self.known.values().map(|image| image.path.clone()).collect();
        paths.sort();
        paths
    }

    fn span(&mut self, pid: u32, line: &Line<'_>, page_bytes: u64) -> u64 {
        let key = (line.device, line.inode);
        if let Some(image) = self.known.get(&key) {
            return image.span;
        }
        // What has no name any more cannot be opened by it.
        if self.known.len() == MOST_IMAGES || !line.name.starts_with('/') || line.name.ends_with(" (deleted)")
        {
            return 0;
        }
        let span = read_header(pid, line).and_then(|header| span_of(&header, page_bytes)).unwrap_or(0);
        self.known.insert(key, Image { path: PathBuf::from(line.name), span });
        span
    }
}

/// The span of the preloaded library, by the headers that the process has in its memory; 0 if they cannot be read.
fn span_of_recorder(pid: u32, first: &Line<'_>, page_bytes: u64) -> u64 {
    let mut header = [0; HEADER_BYTES];
    let read = File::open(format!("/proc/{pid}/mem"))
        .and_then(|memory| memory.read_at(&mut header, first.range.start));
    read.ok().and_then(|len| span_of(header.get(..len)?, page_bytes)).unwrap_or(0)
}

/// The first bytes of a file. Its process may see other files than we do.
fn read_header(pid: u32, line: &Line<'_>) -> Option<Vec<u8>> {
    let paths = [line.name.to_owned(), format!("/proc/{pid}/root{}", line.name)];
    let files = paths.iter().filter_map(|path| {
        // A named pipe in the place of the file must not be waited for.
        let flags = libc::O_NONBLOCK | libc::O_CLOEXEC;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
        file.metadata().is_ok_and(|facts| facts.is_file() && facts.ino() == line.inode).then_some(file)
    });
    let mut header = Vec::new();
    { files }.next()?.take(HEADER_BYTES as u64).read_to_end(&mut header).ok()?;
    Some(header)
}

/// Bytes of the address space that an ELF file of 64 bits takes, in whole pages.
fn span_of(header: &[u8], page_bytes: u64) -> Option<u64> {
    const LOAD: u32 = 1;
    let half = |at: usize| Some(u16::from_le_bytes(header.get(at..at + 2)?.try_into().ok()?));
    let word = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?));
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let (table, size, count) = (usize::try_from(long(32)?).ok()?, half(54)?, half(56)?);
    let (mut start, mut end) = (u64::MAX, 0);
    for index in 0..usize::from(count) {
        let at = table.checked_add(index * usize::from(size))?;
        if word(at)? == LOAD {
            let address = long(at.checked_add(16)?)?;
            start = start.min(address & !(page_bytes - 1));
            end = end.max(address.checked_add(long(at.checked_add(40)?)?)?);
        }
    }
    end.checked_next_multiple_of(page_bytes)?.checked_sub(start).filter(|span| *span < 1 << 40)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps::line;
    use std::sync::atomic::AtomicU8;

    /// More than any page: it is anonymous memory behind what the file has.
    static ZEROES: [AtomicU8; 1 << 20] = [const { AtomicU8::new(0) }; 1 << 20];

    #[test]
    fn the_static_data_of_this_program_lies_in_its_range() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("our mappings");
        let lines: Vec<_> = maps.lines().filter_map(line).collect();
        let mut images = Images::default();
        let loaded = images.loaded(std::process::id(), &lines, crate::page_bytes());
        let zeroes = ZEROES.as_ptr() as u64;
        let ours = loaded.iter().find(|range| range.contains(&zeroes)).expect("it is loaded");
        assert!(ours.contains(&(zeroes + (1 << 20) - 1)));
        let own = std::env::current_exe().and_then(|path| path.canonicalize()).expect("its path");
        let paths = images.paths();
        assert!(paths.contains(&own), "{paths:?}");
        assert!(paths.iter().any(|path| path.to_string_lossy().contains("libc.so")), "{paths:?}");
    }

    #[test]
    fn headers_that_make_no_sense_have_no_span() {
        let own = std::fs::read("/proc/self/exe").expect("our file");
        assert!(span_of(&own[..HEADER_BYTES], 4096).is_some());
        for at in 0..64 {
            let mut header = own[..HEADER_BYTES].to_vec();
            header[at] ^= 0xff;
            let _ = span_of(&header, 4096);
        }
        assert_eq!(span_of(&own[..70], 4096), None, "cut off");
        assert_eq!(span_of(b"#!/bin/sh", 4096), None);
    }
}
