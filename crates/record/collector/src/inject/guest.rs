//! The image in a process of which a thread works for us.

use super::image;
use super::layout::{self, Layout};
use super::thread::{Registers, Thread};
use super::tracee::{Gate, Tracee};
use super::way_back::{WayBack, frame};
use super::{Refused, frames};
use heapwise_trace::live::image::{Parameters, outcome};
use std::ops::Range;

/// The stack for the image's functions, behind the image, with a page below it that nothing may use. It is a part of the image's memory, so
/// that a look at the process's pages at any moment does not take it for the program's. At its upper end are what the function gets, a block of
/// a thread that no C library has made yet, and its result; at the lower end the frame by which the thread goes back.
const GUARD_BYTES: u64 = 4096;
const STACK_BYTES: u64 = 256 << 10;
const TOP_BYTES: u64 = 4096;
const FRAME_AT: u64 = 64;
/// From the upper end's beginning on.
const BLOCK_AT: u64 = 2048;
const RESULT_AT: u64 = 3072;
/// How long a thread sleeps when it has done its work, until it goes on by itself: for as long it stands still if heapwise is killed there.
/// It is far more than heapwise needs to put it back.
const SLEEP_SECONDS: u64 = 3;

/// A thread of a process that works for us.
#[derive(Debug)]
pub(super) struct Guest<'a> {
    pub(super) tracee: &'a mut Tracee,
    thread: &'a Thread,
    gate: Gate,
}

/// Where the image is.
#[derive(Clone, Debug)]
pub(super) struct Image {
    /// All of its memory.
    pub(super) image: Range<u64>,
    /// Where its stack begins.
    stack: u64,
    /// The table of frame descriptions that was written behind it; empty if there is none.
    pub(super) frames: Range<u64>,
    /// Its function.
    pub(super) entry: u64,
}

impl Image {
    /// One that was placed earlier, in this memory.
    pub(super) fn placed_before(image: Range<u64>, entry: u64) -> Option<Self> {
        let is_sound = image.end.checked_sub(image.start)? > STACK_BYTES && image.contains(&entry);
        is_sound.then(|| Self { stack: image.end - STACK_BYTES, image, frames: 0..0, entry })
    }
}

impl<'a> Guest<'a> {
    pub(super) fn new(
        tracee: &'a mut Tracee,
        thread: &'a Thread,
        way_back: Option<&WayBack>,
    ) -> Result<Self, Refused> {
        let gate = match way_back {
            Some(way_back) => Gate { at: way_back.gate, stack: Some(way_back.stack) },
            None => Gate { at: tracee.gate()?, stack: None },
        };
        Ok(Self { tracee, thread, gate })
    }

    pub(super) fn system_call(&mut self, number: libc::c_long, arguments: [u64; 6]) -> Result<u64, Refused> {
        self.tracee.system_call(self.gate, number, arguments)
    }

    fn map(&mut self, len: u64) -> Result<u64, Refused> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        self.system_call(libc::SYS_mmap, [0, len, libc::PROT_NONE as u64, flags as u64, u64::MAX, 0])
    }

    /// Maps memory for code at these free addresses.
    pub(super) fn map_code(&mut self, at: u64, len: u64) -> Result<(), Refused> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let protection = libc::PROT_READ | libc::PROT_EXEC;
        let arguments = [at, len, protection as u64, flags as u64, u64::MAX, 0];
        match self.system_call(libc::SYS_mmap, arguments)? {
            mapped if mapped == at => Ok(()),
            _ => Err(Refused::NoRoom),
        }
    }

    fn protect(&mut self, at: u64, len: u64, protection: i32) -> Result<(), Refused> {
        self.system_call(libc::SYS_mprotect, [at, len, protection as u64, 0, 0, 0]).map(drop)
    }

    pub(super) fn unmap(&mut self, range: &Range<u64>) -> Result<(), Refused> {
        self.system_call(libc::SYS_munmap, [range.start, range.end - range.start, 0, 0, 0, 0]).map(drop)
    }

    /// Lays the image out. `entry` is where the program's first instruction is.
    pub(super) fn place(&mut self, what: &image::Image, entry: u64) -> Result<Image, Refused> {
        let layout = Layout::read(what.file).ok_or(Refused::NoImage)?;
        let frames = what.frames.as_ref().map(|table| frames::bytes(table, entry)).unwrap_or_default();
        let frames_len = (frames.len() as u64).next_multiple_of(layout::PAGE);
        let len = layout.len + frames_len + GUARD_BYTES + STACK_BYTES;
        let base = self.map(len)?;
        let (image, stack) = (base..base + len, base + len - STACK_BYTES);
        let placed = self.fill(&layout, base, &frames, frames_len);
        if placed.is_err() {
            let _ = self.unmap(&image);
        }
        placed?;
        let frames_at = base + layout.len;
        let frames = if frames.is_empty() { 0..0 } else { frames_at..frames_at + frames.len() as u64 };
        Ok(Image { image, stack, frames, entry: base + layout.entry })
    }

    fn fill(
        &mut self,
        layout: &Layout<'_>,
        base: u64,
        frames: &[u8],
        frames_len: u64,
    ) -> Result<(), Refused> {
        for part in &layout.parts {
            self.protect(base + part.start, part.len, part.protection)?;
        }
        for (at, bytes) in layout.placed(base).ok_or(Refused::NoImage)? {
            self.tracee.write(at, &bytes)?;
        }
        if frames_len > 0 {
            self.protect(base + layout.len, frames_len, libc::PROT_READ)?;
            self.tracee.write(base + layout.len, frames)?;
        }
        Ok(())
    }

    /// Has the image do what the parameters say. Returns what came of it.
    pub(super) fn call(&mut self, image: &Image, parameters: &Parameters) -> Result<u32, Refused> {
        let result = self.call_on(image.stack, image.entry, parameters);
        if !matches!(result, Err(Refused::Ended | Refused::Late)) {
            let advice = libc::MADV_DONTNEED as u64;
            self.system_call(libc::SYS_madvise, [image.stack, STACK_BYTES, advice, 0, 0, 0])?;
        }
        result
    }

    fn call_on(&mut self, stack: u64, entry: u64, parameters: &Parameters) -> Result<u32, Refused> {
        self.protect(stack, STACK_BYTES, libc::PROT_READ | libc::PROT_WRITE)?;
        let top = stack + STACK_BYTES - TOP_BYTES;
        let (block, result) = (top + BLOCK_AT, top + RESULT_AT);
        self.tracee.write(top, &parameters.bytes())?;
        self.tracee.write(block, &block.to_le_bytes())?;
        let words = [u64::from(outcome::OPEN), SLEEP_SECONDS, 0];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.tracee.write(result, &bytes)?;
        let frame_at = stack + FRAME_AT;
        self.tracee.write(frame_at, &frame(self.thread, frame_at))?;
        let before = self.thread.registers;
        let fs_base = if before.fs_base == 0 { block } else { before.fs_base };
        let registers =
            Registers { rip: entry, rsp: top, rdi: top, r12: result, r13: frame_at, fs_base, ..before };
        let image = parameters.start..parameters.end;
        self.tracee.run(registers, (result, outcome::OPEN), &image)
    }
}
