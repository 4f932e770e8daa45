//! The innermost frames of stacks that a thread was on before, as far as the frame that they share with the remembered stack.
//!
//! Programs come from a few places to one function that allocates, in turns, and then each stack differs from the last one by some frames.
//! A walk finds them one after the other, since each leads to the next. Here the words of the stack that they were found by are
//! compared, all at once: if both ends and these words are the same, so are the frames in between.
//!
//! Which function has called a frame cannot be known from the frame. Words that have made a difference before tell its callers apart.

use super::frames::{Check, FP_DEAD, Fresh, Remembered};
use super::memory::StackMemory;

/// Segments that are kept. Each has a place, where it takes that of another one.
const SEGMENTS: usize = 1 << 10;
/// Words that prove a segment at most: those of four to eight frames. What is longer is walked, and few are.
const MOST_CHECKS: usize = 8;
/// Innermost frames of which more than one segment is known.
const BRANCHES: usize = 1 << 9;
/// Words that tell the segments of one frame apart.
const MOST_WORDS: usize = 4;
/// How well the segments of a frame are foretold: at most, and when it is left alone for [`RESTS`] walks. Right counts one and wrong two, since
/// looking for a segment takes about as long as walking two frames.
const BEST: i16 = 32;
const WORST: i16 = -32;
const RESTS: u16 = 500;
/// Walks of a thread before its first segment is kept: one with fewer would get pages of memory for nothing.
const WARM: u32 = 256;

/// The innermost frames of a stack, and what they lead to.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Segment {
    /// The innermost frame: its stack pointer, its key with [`FP_DEAD`], and its frame pointer.
    sp: usize,
    key: u64,
    fp: usize,
    /// The frame of the remembered stack that calls the outermost one: its stack pointer, frame pointer and node.
    outer_sp: usize,
    outer_fp: usize,
    outer_node: u32,
    /// Its place in the remembered stack.
    outer: u32,
    /// The node of the innermost frame.
    node: u32,
    /// For which process the nodes are, see [`Segments::forget`].
    stamp: u32,
    count: u32,
    checks: [Check; MOST_CHECKS],
}

/// An innermost frame that has several callers.
#[derive(Debug)]
#[repr(C, align(64))]
struct Branch {
    sp: usize,
    key: u64,
    /// Words that differed: how far they are from `sp`.
    distances: [u32; MOST_WORDS],
    count: u32,
    rests: u16,
    quality: i16,
}

#[derive(Debug)]
#[repr(C)]
struct Memory {
    segments: [Segment; SEGMENTS],
    branches: [Branch; BRANCHES],
}

/// The segments that a thread met last. Zeroed memory has none, and a null pointer never has any.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Segments {
    memory: *mut Memory,
    stamp: u32,
    /// Walks so far, up to [`WARM`].
    walks: u32,
}

impl Branch {
    #[inline(always)]
    fn is_of(&self, first: &Fresh) -> bool {
        self.sp == first.sp && self.key == first.key
    }

    #[inline(always)]
    fn words(&self) -> &[u32] {
        self.distances.get(..self.count as usize).unwrap_or_default()
    }
}

impl Memory {
    /// Where the branch of a frame is.
    #[inline(always)]
    fn branch(first: &Fresh) -> usize {
        (hash(first) >> (u64::BITS - BRANCHES.trailing_zeros())) as usize
    }

    /// Where the segment of a frame is that the stack as it is now leads to; `None` if the frame is left alone.
    #[inline(always)]
    fn segment(&self, first: &Fresh, stack: &StackMemory) -> Option<usize> {
        let mut mixed = hash(first);
        let branch = &self.branches[Self::branch(first)];
        if branch.is_of(first) {
            if branch.rests > 0 {
                return None;
            }
            for &distance in branch.words() {
                if let Some(word) = stack.word(first.sp.wrapping_add(distance as usize)) {
                    mixed = (mixed.rotate_left(23) ^ word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                }
            }
        }
        Some((mixed >> (u64::BITS - SEGMENTS.trailing_zeros())) as usize)
    }
}

/// PERF: the two multiplications do not wait for each other.
#[inline(always)]
fn hash(first: &Fresh) -> u64 {
    (first.sp as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ first.key.wrapping_mul(0xd6e8_feb8_6659_fd93)
}

impl Segments {
    /// Bytes that they take.
    pub(super) const BYTES: usize = size_of::<Memory>();

    /// Begins with this memory.
    ///
    /// # Safety
    /// `at` is null, or the start of so many zeroed bytes, aligned to a line of the cache, which belong to this from now on.
    pub(super) unsafe fn begin(&mut self, at: *mut u8) {
        self.memory = at.cast();
        self.stamp = 1;
    }

    /// Forgets all: their nodes belong to another process.
    pub(super) fn forget(&mut self) {
        // Zeroed memory has none.
        self.stamp = self.stamp.wrapping_add(1).max(1);
    }

    /// The memory, if the thread has walked so often that it is worth it.
    #[inline(always)]
    fn memory(&mut self) -> Option<&mut Memory> {
        if self.walks < WARM {
            return None;
        }
        // SAFETY: null, or memory that `begin` was given for good and that nothing else refers to; it is borrowed as this is, exclusively.
        // It is aligned, and any bytes are valid integers.
        unsafe { self.memory.as_mut() }
    }

    /// The segment that begins with this frame, if there is one where the words of the stack say.
    #[inline(always)]
    pub(super) fn get(&mut self, first: &Fresh, stack: &StackMemory) -> Option<&Segment> {
        let stamp = self.stamp;
        let memory = self.memory()?;
        let segment = &memory.segments[memory.segment(first, stack)?];
        let same_fp = segment.fp == first.fp || segment.key & FP_DEAD != 0;
        let same = segment.sp == first.sp && segment.key & !FP_DEAD == first.key && same_fp;
        (same && segment.stamp == stamp).then_some(segment)
    }

    /// Notes that the segment of a frame was foretold.
    #[inline(always)]
    pub(super) fn was_right(&mut self, first: &Fresh) {
        let Some(memory) = self.memory() else { return };
        let branch = &mut memory.branches[Memory::branch(first)];
        if branch.quality < BEST && branch.is_of(first) {
            branch.quality += 1;
        }
    }

    /// Notes that it was not, and which word made the difference, if that is known. It lies further out than `first`.
    #[inline(always)]
    pub(super) fn was_wrong(&mut self, first: &Fresh, differs: Option<usize>) {
        let Some(memory) = self.memory() else { return };
        let branch = &mut memory.branches[Memory::branch(first)];
        let distance = differs.and_then(|at| u32::try_from(at.checked_sub(first.sp)?).ok());
        if !branch.is_of(first) {
            if distance.is_none() {
                return;
            }
            (branch.sp, branch.key, branch.count) = (first.sp, first.key, 0);
            (branch.quality, branch.rests) = (0, 0);
        }
        if branch.rests > 0 {
            branch.rests -= 1;
            return;
        }
        if let Some(distance) = distance
            && !branch.words().contains(&distance)
            && let Some(place) = branch.distances.get_mut(branch.count as usize)
        {
            *place = distance;
            branch.count += 1;
            return;
        }
        branch.quality -= 2;
        if branch.quality <= WORST {
            (branch.quality, branch.rests) = (0, RESTS);
        }
    }

    /// Remembers a segment: its innermost frame, the frame of the remembered stack that calls it and the place of that, and what proves the
    /// frames in between.
    pub(super) fn put(
        &mut self,
        first: (&Fresh, &Remembered),
        outer: (usize, &Remembered),
        proof: impl Iterator<Item = Check>,
        stack: &StackMemory,
    ) {
        let stamp = self.stamp;
        self.walks = (self.walks + 1).min(WARM);
        let Some(memory) = self.memory() else { return };
        let ((first, innermost), (index, known)) = (first, outer);
        let Some(place) = memory.segment(first, stack) else { return };
        let segment = &mut memory.segments[place];
        // Until it is whole, it is none.
        segment.stamp = 0;
        let mut count = 0;
        for check in proof {
            let Some(place) = segment.checks.get_mut(count) else { return };
            *place = check;
            count += 1;
        }
        (segment.sp, segment.key, segment.fp) = (innermost.sp, innermost.key, innermost.fp);
        (segment.outer_sp, segment.outer_fp, segment.outer_node) = (known.sp, known.fp, known.node);
        (segment.outer, segment.node) = (index as u32, innermost.node);
        (segment.count, segment.stamp) = (count as u32, stamp);
    }
}

impl Segment {
    /// The place in the remembered stack of the frame that it leads to.
    #[inline(always)]
    pub(super) fn outer(&self) -> usize {
        self.outer as usize
    }

    /// The node of its innermost frame.
    #[inline(always)]
    pub(super) fn node(&self) -> u32 {
        self.node
    }

    /// Whether this is the frame that it leads to.
    #[inline(always)]
    pub(super) fn leads_to(&self, known: &Remembered) -> bool {
        let same_fp = known.fp == self.outer_fp || known.key & FP_DEAD != 0;
        known.sp == self.outer_sp && known.node == self.outer_node && same_fp
    }

    /// Where a word of the stack is not what it was, if there is one.
    #[inline(always)]
    pub(super) fn difference(&self, stack: &StackMemory) -> Option<usize> {
        let checks = self.checks.get(..self.count as usize).unwrap_or_default();
        checks.iter().find(|check| stack.word(check.at) != Some(check.value)).map(|check| check.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack of words, and the memory of a thread that has walked often.
    struct Thread {
        stack: Vec<usize>,
        _memory: Vec<[u64; 8]>,
        segments: Segments,
    }

    impl Thread {
        fn new() -> Self {
            let mut memory = vec![[0u64; 8]; Segments::BYTES.div_ceil(64) + 1];
            let mut segments = Segments { memory: core::ptr::null_mut(), stamp: 0, walks: WARM };
            let at = memory.as_mut_ptr().cast::<u8>();
            // SAFETY: zeroed, aligned by what is added, which is less than the element that there is more, and kept as long as the segments.
            unsafe { segments.begin(at.add(at.align_offset(64))) };
            Self { stack: vec![0; 64], _memory: memory, segments }
        }

        fn at(&self, word: usize) -> usize {
            self.stack.as_ptr() as usize + 8 * word
        }

        fn memory(&self) -> StackMemory {
            // SAFETY: the words of the vector, which stays as it is as long as the thread.
            unsafe { StackMemory::new(self.at(0), self.at(self.stack.len())) }
        }

        fn first(&self, key: u64, fp: usize) -> Fresh {
            Fresh { sp: self.at(4), key, fp, ..Fresh::default() }
        }

        /// What is remembered outside of all segments.
        fn known(&self) -> Remembered {
            Remembered { sp: self.at(40), key: 0x4000, fp: 7, node: 3, outer_checks: 0 }
        }

        fn put(&mut self, first: &Fresh, flags: u64, node: u32, words: &[usize]) {
            let innermost =
                Remembered { sp: first.sp, key: first.key | flags, fp: first.fp, node, outer_checks: 0 };
            let checks: Vec<_> =
                words.iter().map(|&w| Check { at: self.at(w), value: self.stack[w] }).collect();
            let (known, stack) = (self.known(), self.memory());
            self.segments.put((first, &innermost), (2, &known), checks.into_iter(), &stack);
        }

        /// The node that is foretold, if the stack proves it; otherwise the word that differs is noted.
        fn foretell(&mut self, first: &Fresh) -> Option<u32> {
            let (known, stack) = (self.known(), self.memory());
            let mut differs = None;
            if let Some(segment) = self.segments.get(first, &stack) {
                assert!(segment.leads_to(&known) && segment.outer() == 2);
                differs = segment.difference(&stack);
                if differs.is_none() {
                    let node = segment.node();
                    self.segments.was_right(first);
                    return Some(node);
                }
            }
            self.segments.was_wrong(first, differs);
            None
        }
    }

    #[test]
    fn a_segment_is_foretold_while_its_words_are_the_same() {
        let mut thread = Thread::new();
        thread.stack[10] = 0x1111;
        let first = thread.first(0x5000, 1);
        assert_eq!(thread.foretell(&first), None);
        thread.put(&first, 0, 9, &[10, 20]);
        assert_eq!(thread.foretell(&first), Some(9));
        assert_eq!(thread.foretell(&thread.first(0x5001, 1)), None, "another place");
        assert_eq!(thread.foretell(&thread.first(0x5000, 2)), None, "another frame pointer");
        thread.stack[20] = 1;
        assert_eq!(thread.foretell(&first), None, "another caller");
        thread.stack[20] = 0;
        thread.segments.forget();
        assert_eq!(thread.foretell(&first), None, "another process");
        thread.put(&first, FP_DEAD, 10, &[10]);
        assert_eq!(
            thread.foretell(&thread.first(0x5000, 2)),
            Some(10),
            "the frame pointer makes no difference"
        );
    }

    #[test]
    fn it_leads_to_the_frame_that_it_was_found_with() {
        let mut thread = Thread::new();
        let first = thread.first(0x5000, 1);
        thread.put(&first, 0, 9, &[10]);
        let (known, stack) = (thread.known(), thread.memory());
        let segment = thread.segments.get(&first, &stack).expect("it was put there");
        assert!(segment.leads_to(&known));
        assert!(!segment.leads_to(&Remembered { sp: known.sp + 8, ..known }));
        assert!(!segment.leads_to(&Remembered { node: 4, ..known }));
        assert!(!segment.leads_to(&Remembered { fp: 8, ..known }));
        assert!(segment.leads_to(&Remembered { fp: 8, key: known.key | FP_DEAD, ..known }));
    }

    #[test]
    fn callers_in_turns_are_told_apart_by_the_words_that_differ() {
        let mut thread = Thread::new();
        let first = thread.first(0x5000, 1);
        let mut foretold = 0;
        for round in 0..200 {
            let (caller, way) = (round % 3, round / 3 % 2);
            (thread.stack[10], thread.stack[21]) = (0x1000 + caller, 0x2000 + way);
            let node = (10 * caller + way) as u32;
            match thread.foretell(&first) {
                Some(found) => {
                    assert_eq!(found, node);
                    foretold += 1;
                }
                None => thread.put(&first, 0, node, &[10, 15, 21]),
            }
        }
        assert!(foretold > 180, "{foretold} of 200");
    }

    #[test]
    fn a_frame_is_left_alone_where_nothing_can_be_foretold() {
        let mut thread = Thread::new();
        let first = thread.first(0x5000, 1);
        for round in 0..200 {
            thread.stack[10] = round;
            assert_eq!(thread.foretell(&first), None);
            thread.put(&first, 0, 1, &[10]);
        }
        // It would be foretold, and is not looked for.
        assert_eq!(thread.foretell(&first), None);
        let tries = (0..2 * RESTS).position(|_| {
            thread.put(&first, 0, 1, &[10]);
            thread.foretell(&first).is_some()
        });
        assert!(tries.is_some_and(|tries| tries > 100), "later it is tried again: {tries:?}");
    }

    #[test]
    fn nothing_is_kept_of_long_segments_short_threads_or_without_memory() {
        let mut thread = Thread::new();
        let first = thread.first(0x5000, 1);
        thread.put(&first, 0, 9, &[10; MOST_CHECKS + 1]);
        assert_eq!(thread.foretell(&first), None, "too long");
        thread.put(&first, 0, 9, &[10; MOST_CHECKS]);
        assert_eq!(thread.foretell(&first), Some(9));
        let mut short = Thread::new();
        short.segments.walks = 0;
        let first = short.first(0x5000, 1);
        for walk in 1..=WARM {
            assert_eq!(short.foretell(&first), None, "walk {walk}");
            short.put(&first, 0, 9, &[10]);
        }
        assert_eq!(short.foretell(&first), Some(9));
        short.segments.memory = core::ptr::null_mut();
        short.put(&first, 0, 9, &[10]);
        assert_eq!(short.foretell(&first), None);
    }
}
