//! The remembered stack of a thread, and the walk that uses it.

use super::frames::{Check, FP_DEAD, FpUse, Fresh, Remembered, UNPROVABLE};
use super::full_walk::FullWalk;
use super::memory::{StackMemory, Stacks};
use super::module;
use super::segments::Segments;
use super::step::{Step, step};
use super::tables::{DEPTH, Tables, zero};
use crate::arch::entry::Entry;
use crate::node_cache::NodeCache;
use crate::process::Process;
use core::sync::atomic::Ordering;
use heapwise_trace::event::StackId;
use heapwise_trace::live::node::{ADDRESS_MASK, EXACT_PC};

/// Most frames that are kept of a stack that is too deep to be kept whole ([`DEPTH`]): its innermost ones. There are fewer of
/// them, since each event proves all that are kept.
const CUT_DEPTH: usize = 4 << 10;
/// Frames that are kept whenever a stack outgrows one of the two. As many again fit before the next time, so a level more or
/// less of a deep recursion costs the same at every depth.
const KEPT: usize = CUT_DEPTH / 2;

/// Where a word is whose value is never the one that checks of [`UNPROVABLE`] frames require.
fn never() -> usize {
    zero()
}

/// The last stack of a thread. Zeroed memory is an empty one.
#[derive(Debug)]
#[repr(C)]
pub struct RememberedStack {
    depth: usize,
    n_checks: usize,
    /// The stacks that the thread was seen on.
    pub stacks: Stacks,
    /// Whether the remembered stack ended early.
    cut: bool,
    /// Whether that is because it is deeper than what is kept.
    too_deep: bool,
    /// [`module::postponed`] when it was last looked at.
    postponed: u64,
    nodes: NodeCache,
    segments: Segments,
    tables: Tables,
}

/// How a walk ended.
enum End {
    /// At a remembered frame: this many outermost frames of the last stack are the rest. And where the frame pointer there was
    /// loaded from, as in [`Fresh`].
    Joined(usize, usize),
    Outermost,
    Cut,
    /// There are more frames than are kept.
    TooDeep,
}

impl RememberedStack {
    /// Bytes of memory for nodes, and for segments: what makes it faster, and is not there where memory is short.
    pub const NODE_BYTES: usize = NodeCache::BYTES;
    /// See there.
    pub const SEGMENT_BYTES: usize = Segments::BYTES;

    /// Begins with memory for shallow stacks, and for remembered nodes and segments if there is any.
    ///
    /// # Safety
    /// `tables` is the start of [`FIRST_BYTES`], aligned to eight. Unless they are null, `nodes` is the start of
    /// [`NODE_BYTES`](Self::NODE_BYTES) and `segments` of [`SEGMENT_BYTES`](Self::SEGMENT_BYTES), aligned to a line of the cache. The
    /// bytes are zeroed and belong to this from now on.
    pub unsafe fn begin(&mut self, tables: *mut u8, nodes: *mut u8, segments: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe {
            self.tables.begin(tables);
            self.nodes.begin(nodes);
            self.segments.begin(segments);
        }
    }

    /// Forgets the last stack, and where stacks are.
    pub fn forget(&mut self) {
        self.forget_frames();
        self.stacks.forget();
    }

    /// Forgets the last stack.
    pub fn forget_frames(&mut self) {
        self.depth = 0;
    }

    /// Forgets the nodes: they belong to another process's trie.
    pub fn forget_nodes(&mut self) {
        self.nodes.forget();
        self.segments.forget();
    }

    /// The id of the stack that called the entry point.
    #[inline(always)]
    pub fn capture(&mut self, entry: Entry, process: &Process) -> StackId {
        let sp = entry.stack_pointer;
        if self.stacks.current().contains(&sp) {
            // SAFETY: `sp` is the entry point's stack pointer, where the caller's return address lies.
            let pc = unsafe { (sp as *const usize).read_volatile() };
            let top = self.frame(self.depth);
            let same_fp = top.fp == entry.frame_pointer || top.key & FP_DEAD != 0;
            let same = top.sp == sp + 8 && top.key & !FP_DEAD == pc as u64 && same_fp;
            let (node, checks) = (top.node, top.outer_checks);
            if same && self.first_difference(checks).is_none() {
                return StackId(node);
            }
        }
        self.capture_by_walk(entry, process)
    }

    #[inline(always)]
    fn frame(&self, index: usize) -> &Remembered {
        debug_assert!(index <= self.tables.room(), "there is room for the remembered frames");
        // SAFETY: `depth` and every index below it are at most the room of the tables; this one has one element more. The
        // reference lives as long as the shared borrow of self.
        unsafe { self.tables.frames.get_unchecked(index) }
    }

    /// Looks whether the first `count` words still are what they were, the innermost frame's first. Returns the index
    /// of the first one that is not.
    ///
    /// All of them lie on the current stack further out than a frame that was just found there, so they can be read.
    #[inline(always)]
    fn first_difference(&self, count: u32) -> Option<usize> {
        // SAFETY: `count` was the number of checks when a frame was remembered; the words are readable, see above.
        unsafe { self.tables.first_difference(count) }
    }

    #[inline(never)]
    fn capture_by_walk(&mut self, entry: Entry, process: &Process) -> StackId {
        let sp = entry.stack_pointer;
        if !self.stacks.current().contains(&sp) && !self.stacks.switch_to(sp) {
            // The stack that is remembered is another one.
            self.depth = 0;
            return process.trie.root(true);
        }
        // SAFETY: `sp` is the stack pointer of a function that called us, on the stack with these bounds, so all above
        // it is mapped and in use.
        let memory = unsafe { StackMemory::new(sp, self.stacks.current().end) };
        let Some(first) = innermost(entry, &memory) else { return process.trie.root(true) };
        if let Some(id) = self.by_segment(&first, &memory) {
            return id;
        }
        self.walk_and_remember(&first, &memory, process)
    }

    /// The stack that begins with a frame, if its innermost frames were met before and lead to the remembered stack.
    #[inline(always)]
    fn by_segment(&mut self, first: &Fresh, memory: &StackMemory) -> Option<StackId> {
        let mut differs = None;
        if let Some(segment) = self.segments.get(first, memory) {
            let (outer, node) = (segment.outer(), segment.node());
            let known = self.tables.frames.get(outer).filter(|_| outer <= self.depth);
            if known.is_some_and(|known| segment.leads_to(known)) {
                differs = segment.difference(memory);
                if differs.is_none() {
                    // The return address of that frame is among the words, so it lies on the current stack.
                    match self.first_difference(self.frame(outer).outer_checks) {
                        None => {
                            self.segments.was_right(first);
                            return Some(StackId(node));
                        }
                        // One of an unprovable frame is no word of the stack.
                        Some(check) => {
                            differs = self
                                .tables
                                .checks
                                .get(check)
                                .map(|check| check.at)
                                .filter(|at| memory.contains(*at));
                        }
                    }
                }
            }
        }
        self.segments.was_wrong(first, differs);
        None
    }

    /// The stack that begins with a frame, by a walk.
    fn walk_and_remember(&mut self, first: &Fresh, memory: &StackMemory, process: &Process) -> StackId {
        let postponed = module::postponed();
        let (end, n_fresh) = self.walk(*first, memory);
        let is_cut = matches!(end, End::Cut);
        let joined = match end {
            End::Joined(kept, fp_slot) => Some((kept, fp_slot, self.checks_with(kept))),
            _ => None,
        };
        let id = self.remember(end, n_fresh, process);
        // Where the first frame is a remembered one there is none in between.
        if let Some((kept, fp_slot, checks)) = joined
            && n_fresh > 0
            && self.depth == kept + n_fresh
        {
            self.remember_segment((first, memory), (kept, fp_slot), checks);
        }
        // Where the kernel was not asked, the stack may go on: the next walk is to find that out.
        if is_cut && module::postponed() != postponed {
            self.forget_frames();
        }
        id
    }

    /// Remembers the frames from `first` on as a segment that leads to the remembered frame of this place, whose frame pointer was loaded from
    /// `fp_slot`. Its checks begin after so many others.
    fn remember_segment(
        &mut self,
        (first, memory): (&Fresh, &StackMemory),
        (outer, fp_slot): (usize, usize),
        checks: usize,
    ) {
        let (innermost, known) = (*self.frame(self.depth), *self.frame(outer));
        // The last one is the innermost frame's return address, which it is found by.
        let Some(fresh) = self.tables.checks.get(checks..self.n_checks.saturating_sub(1)) else { return };
        if fp_slot == UNPROVABLE || fresh.iter().any(|check| check.at == never()) {
            return;
        }
        let return_address = Check { at: known.sp - 8, value: (known.key & ADDRESS_MASK) as usize };
        let has_frame_pointer = fp_slot != 0 && known.key & FP_DEAD == 0;
        let frame_pointer = has_frame_pointer.then_some(Check { at: fp_slot, value: known.fp });
        let proof = fresh.iter().rev().copied().chain(frame_pointer).chain([return_address]);
        self.segments.put((first, &innermost), (outer, &known), proof, memory);
    }

    /// Walks outwards until a remembered frame proves the rest. Returns how it ended and how many frames are fresh.
    fn walk(&mut self, first: Fresh, memory: &StackMemory) -> (End, usize) {
        let mut memory = *memory;
        let (mut sp, mut key, mut fp, mut fp_slot) = (first.sp, first.key, first.fp, first.fp_slot);
        let mut candidate = self.depth;
        // A remembered frame that is known to be gone: neither it nor a frame further in can be proven.
        let mut gone = usize::MAX;
        let mut n_fresh = 0;
        loop {
            while candidate > 0 && self.frame(candidate).sp < sp {
                candidate -= 1;
            }
            let known = self.frame(candidate);
            let same_fp = known.fp == fp || known.key & FP_DEAD != 0;
            if known.sp == sp && known.key & !FP_DEAD == key && same_fp && candidate < gone {
                match self.first_difference(known.outer_checks) {
                    None => return (End::Joined(candidate, fp_slot), n_fresh),
                    Some(check) => gone = self.frame_of_check(candidate, check),
                }
            }
            if n_fresh == self.tables.room() && !self.tables.reserve(n_fresh + 1) {
                return (End::TooDeep, n_fresh);
            }
            // SAFETY: `n_fresh` is below the room of the tables, which is the length of this one.
            let frame = unsafe { self.tables.fresh.get_unchecked_mut(n_fresh) };
            *frame = Fresh { sp, key, fp, fp_slot, fp_use: FpUse::Needed };
            n_fresh += 1;
            match step(frame, &memory) {
                Step::To(caller) => {
                    (sp, key, fp, fp_slot) = (caller.sp, caller.key, caller.fp, caller.fp_slot);
                    if key & EXACT_PC != 0 && !memory.contains(sp) {
                        let Some(other) = self.stacks.interrupted(sp) else { return (End::Cut, n_fresh) };
                        memory = other;
                    }
                }
                Step::Outermost => return (End::Outermost, n_fresh),
                Step::Lost => return (End::Cut, n_fresh),
                Step::NotAFrame => return (End::Cut, (n_fresh - 1).max(1)),
                Step::NeedsRegisters => return self.walk_with_registers(&first),
            }
        }
    }

    /// The frame outside of `candidate` to which a check belongs.
    fn frame_of_check(&self, candidate: usize, check: usize) -> usize {
        let mut index = candidate - 1;
        while index > 1 && self.frame(index).outer_checks as usize > check {
            index -= 1;
        }
        index
    }

    /// Does the whole walk with all registers, from the recorder's own frame on. Rare: below code that keeps its frame
    /// address in an unusual register, such as the loader's lazy binding.
    #[cold]
    #[inline(never)]
    fn walk_with_registers(&mut self, first: &Fresh) -> (End, usize) {
        let mut n_fresh = 0;
        // SAFETY: as in `capture_by_walk`: the entry point's return address lies right below the first frame.
        let memory = unsafe { StackMemory::new(first.sp - 8, self.stacks.current().end) };
        let mut walker = FullWalk::from_here(first.sp, first.pc(), memory);
        loop {
            match walker.next_frame(&mut self.stacks) {
                Ok(frame) => {
                    if n_fresh == self.tables.room() && !self.tables.reserve(n_fresh + 1) {
                        return (End::TooDeep, n_fresh);
                    }
                    self.tables.fresh[n_fresh] = frame;
                    n_fresh += 1;
                }
                Err(whole) => return (if whole { End::Outermost } else { End::Cut }, n_fresh),
            }
        }
    }

    /// Makes the walk's result the remembered stack and names its nodes.
    fn remember(&mut self, end: End, n_fresh: usize, process: &Process) -> StackId {
        let most = if self.too_deep { CUT_DEPTH } else { DEPTH };
        let (kept, n_fresh) = match end {
            End::Joined(kept, _) if kept + n_fresh <= most && self.has_room(kept + n_fresh) => {
                (kept, n_fresh)
            }
            End::Joined(kept, _) => {
                let both = self.kept_when_too_deep();
                (self.keep_innermost(kept, both.saturating_sub(n_fresh), process), n_fresh.min(both))
            }
            End::Outermost | End::Cut => {
                (self.cut, self.too_deep) = (matches!(end, End::Cut), false);
                (0, n_fresh)
            }
            End::TooDeep => {
                (self.cut, self.too_deep) = (true, true);
                (0, self.kept_when_too_deep())
            }
        };
        let (mut node, mut checks, mut fp_dead) = match kept {
            0 => (process.trie.root(self.cut), 0, false),
            kept => {
                let outer = *self.frame(kept);
                (StackId(outer.node), self.checks_with(kept), outer.key & FP_DEAD != 0)
            }
        };
        let mut depth = kept;
        // PERF: as slices, whose addresses stay in registers while the tables are written to.
        let (frames, all_checks, fresh) = self.tables.slices();
        for fresh in fresh[..n_fresh].iter().rev() {
            node = match process.trie.next_node(node, fresh.key) {
                Some(next) => next,
                None => self.nodes.node(node, fresh.key, |parent, key| process.node(parent, key)),
            };
            fp_dead = match fresh.fp_use {
                FpUse::Needed => false,
                FpUse::Passed => fp_dead,
                FpUse::Replaced => true,
            };
            let flag = if fp_dead { FP_DEAD } else { 0 };
            depth += 1;
            frames[depth] = Remembered {
                sp: fresh.sp,
                key: fresh.key | flag,
                fp: fresh.fp,
                node: node.0,
                outer_checks: checks as u32,
            };
            // PERF: word by word into its place. A check that is put together on the stack first is read again at once
            // as a whole, and the processor has to wait until its two halves have reached the cache.
            let mut add = |at: usize, value: usize| {
                all_checks[checks] = Check { at, value };
                checks += 1;
            };
            // The words that prove a frame, given its callee: its return address, and where its frame pointer was
            // loaded from, unless that makes no difference to any frame.
            match fresh.fp_slot {
                UNPROVABLE => add(never(), 1),
                slot => {
                    if slot != 0 && !fp_dead {
                        add(slot, fresh.fp);
                    }
                    add(fresh.sp - 8, fresh.pc());
                }
            }
        }
        self.depth = depth;
        self.n_checks = checks;
        node
    }

    #[inline(always)]
    fn has_room(&mut self, frames: usize) -> bool {
        frames <= self.tables.room() || self.tables.reserve(frames)
    }

    /// Frames that are kept when a stack is found to be too deep: fewer where there is no memory for more.
    fn kept_when_too_deep(&self) -> usize {
        KEPT.min(self.tables.room() / 2)
    }

    /// Of the `depth` outermost remembered frames keeps the `wanted` innermost ones, as those of a cut stack. Returns how
    /// many these are.
    #[cold]
    #[inline(never)]
    fn keep_innermost(&mut self, depth: usize, wanted: usize, process: &Process) -> usize {
        let kept = wanted.min(depth);
        let first = depth - kept + 1;
        let checks =
            if kept == 0 { 0..0 } else { self.frame(first).outer_checks as usize..self.checks_with(depth) };
        let mut node = process.trie.root(true);
        for index in 1..=kept {
            let mut frame = *self.frame(first + index - 1);
            node = self.nodes.node(node, frame.key & !FP_DEAD, |parent, key| process.node(parent, key));
            frame.node = node.0;
            frame.outer_checks -= checks.start as u32;
            self.tables.frames[index] = frame;
        }
        self.n_checks = checks.len();
        self.tables.checks.copy_within(checks, 0);
        (self.depth, self.cut, self.too_deep) = (kept, true, true);
        kept
    }

    /// How many checks the frames up to and with `index` have.
    fn checks_with(&self, index: usize) -> usize {
        if index < self.depth { self.frame(index + 1).outer_checks as usize } else { self.n_checks }
    }

    /// Compares a stack that was just captured for `entry` with a walk that knows of no segments, and that with a full unwind from here.
    #[cold]
    #[inline(never)]
    pub fn verify(&mut self, entry: Entry, id: StackId, process: &Process) {
        let Some(header) = process.header() else { return };
        let sp = entry.stack_pointer;
        // SAFETY: as in `capture`.
        let memory = unsafe { StackMemory::new(sp, self.stacks.current().end) };
        if self.depth == 0 {
            return;
        }
        let last = *self.frame(self.depth);
        let is_remembered = last.sp == sp + 8 && last.node == id.0;
        if !is_remembered && let Some(first) = innermost(entry, &memory) {
            let postponed = module::postponed();
            let walked = self.walk_and_remember(&first, &memory, process);
            // A walk that could not query the kernel about an address may end early.
            if postponed == module::postponed() && !process.trie.are_same(walked, id) {
                header.verify_failed.fetch_add(1, Ordering::Relaxed);
                header.verify_failed_at.store(first.pc() as u64, Ordering::Relaxed);
            }
            if self.depth == 0 {
                return;
            }
        }
        let innermost = *self.frame(self.depth);
        let pc = |key: u64| (key & ADDRESS_MASK) as usize;
        let postponed = module::postponed();
        let mut walker = FullWalk::from_here(innermost.sp, pc(innermost.key), memory);
        let mut remembered = self.tables.frames[1..=self.depth].iter().rev();
        let differs_at = loop {
            match (walker.next_frame(&mut self.stacks), remembered.next()) {
                (Ok(full), Some(ours)) if full.sp == ours.sp && full.key == ours.key & !FP_DEAD => {}
                (Err(whole), None) if whole != self.cut => break None,
                (Ok(_), None) if self.too_deep => break None,
                (Ok(full), _) => break Some(full.pc()),
                (Err(_), Some(ours)) => break Some(pc(ours.key)),
                (Err(_), None) => break Some(pc(innermost.key)),
            }
        };
        // One of the two walks did not query the kernel about an address: they cannot be compared.
        if postponed != module::postponed() || self.postponed != postponed {
            self.postponed = module::postponed();
            return;
        }
        header.verified.fetch_add(1, Ordering::Relaxed);
        if let Some(pc) = differs_at {
            header.verify_failed.fetch_add(1, Ordering::Relaxed);
            header.verify_failed_at.store(pc as u64, Ordering::Relaxed);
        }
    }
}

/// The frame that called the entry point.
#[inline(always)]
fn innermost(entry: Entry, memory: &StackMemory) -> Option<Fresh> {
    let key = memory.word(entry.stack_pointer)? as u64 & ADDRESS_MASK;
    let (sp, fp) = (entry.stack_pointer + 8, entry.frame_pointer);
    Some(Fresh { sp, key, fp, fp_slot: 0, fp_use: FpUse::Needed })
}
