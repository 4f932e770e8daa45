//! How the recorder gets into functions of allocators that are inside of executables and libraries.
//!
//! A process asks ([`ProcessHeader::hooks_asked`](super::layout::ProcessHeader::hooks_asked)); the collector looks at the files
//! that the process has mapped, and answers with [`Hook`]s, one for each function: which bytes at its beginning make way for a
//! jump, and what they become where they are moved to. The process applies them, and says of each what came of it.

use super::atomics::{AtomicU64, Ordering};
use crate::event::AllocatorNumber;

/// Most functions of one process.
pub const MOST_HOOKS: usize = 512;
/// Bytes that a jump takes.
pub const JUMP_BYTES: usize = 5;
/// Most bytes that make way: one less than a jump, and the longest instruction that may follow.
pub const MOST_DISPLACED: usize = JUMP_BYTES - 1 + 15;
/// Most bytes of code that these become, with the jump back.
pub const MOST_MOVED: usize = 48;
/// Most places in it that depend on where it lies.
pub const MOST_FIXUPS: usize = 4;
/// Words of a hook in the shared memory.
pub const HOOK_WORDS: usize = 16;
/// Bytes of the table of hooks of one process.
pub const HOOK_TABLE_BYTES: usize = MOST_HOOKS * HOOK_WORDS * 8;

/// What came of a hook: the recorder's answer in
/// [`ProcessHeader::hook_results`](super::layout::ProcessHeader::hook_results).
pub mod result {
    /// It is not known yet.
    pub const OPEN: u8 = 0;
    /// The function is entered through the recorder.
    pub const APPLIED: u8 = 1;
    /// There was other code than the file has: a breakpoint, or another tool's jump.
    pub const OTHER_CODE: u8 = 2;
    /// There was no free memory near enough for a jump.
    pub const NO_ROOM: u8 = 3;
    /// The system did not allow the code to be written to.
    pub const FORBIDDEN: u8 = 4;
    /// The processor keeps the addresses to which calls return, and the moved code would not go with them.
    pub const RETURNS_GUARDED: u8 = 5;
}

/// What a function does with blocks, and what its arguments are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum HookKind {
    /// `f(size)`
    #[default]
    Allocate = 1,
    /// `f(count, size)`
    AllocateArray = 2,
    /// `f(size)`, zeroed.
    AllocateZeroed = 3,
    /// `f(count, size)`, zeroed.
    AllocateArrayZeroed = 4,
    /// `f(size, align)`
    AllocateAligned = 5,
    /// `f(align, size)`
    AlignedAllocate = 6,
    /// `f(size, align)`, zeroed.
    AllocateAlignedZeroed = 7,
    /// `f(align, size)`, zeroed.
    AlignedAllocateZeroed = 8,
    /// `f(out, align, size)`, which returns an error.
    PosixMemalign = 9,
    /// `mallocx(size, flags)`
    Mallocx = 10,
    /// `f(block, …)`
    Free = 11,
    /// `f(block, size)`
    Resize = 12,
    /// `f(block, count, size)`
    ResizeArray = 13,
    /// `f(block, size, align)`
    ResizeAligned = 14,
    /// `rallocx(block, size, flags)`
    Rallocx = 15,
    /// `f(block, align, old size, size)`
    ResizeFrom = 16,
    /// `xallocx(block, size, extra, flags)`, which returns the size that the block has now, in its place.
    Xallocx = 17,
    /// `rpaligned_realloc(block, align, size, old size, flags)`
    RpalignedRealloc = 18,
    /// `f(block, size, align, old size)`: the block, if it has that size in its place, or another one, to which the caller moves what is in
    /// the first one, which it frees then.
    PrepareResize = 19,
    /// `f(text, …)`, which returns a copy of the text, or of its beginning.
    Duplicate = 20,
    /// `f(heap)`: all blocks of the heap are given up.
    DestroyHeap = 21,
    /// `_exit(code)`: the process ends. Where the recorder is no library, nothing else says so.
    Exit = 22,
    /// `pthread_create(thread, attributes, start, argument)`
    ThreadCreate = 23,
    /// `pthread_join(thread, result)`
    ThreadJoin = 24,
    /// `pthread_setname_np(thread, name)`
    ThreadName = 25,
    /// `f()`, in which an allocator calls its own functions for what is no block of the program.
    Internal = 26,
    /// `execve(program, arguments, environment)`
    Execve = 27,
    /// `execveat(folder, program, arguments, environment, flags)`
    Execveat = 28,
    /// `fexecve(file, arguments, environment)`
    Fexecve = 29,
    /// `prctl(option, …)`
    Prctl = 30,
    /// `syscall(number, …)`
    SystemCall = 31,
    /// `_dl_debug_state()`: the loader calls it when its list of libraries has changed.
    LoaderChanged = 32,
    /// `Syscall6(number, …)` of Go, with the arguments in its registers.
    GoSystemCall = 33,
    /// `RawSyscall(number, …)` of Go before 1.19 and its relatives, with the arguments on the stack.
    GoSystemCallOnStack = 34,
    /// `nallocx(size, flags)`: the size that a block would have. It is not entered, but called by the recorder.
    Nallocx = 35,
    /// `f(heap, whether blocks, visitor, argument)`: has each block of a heap visited. It is not entered, but called by the recorder.
    VisitBlocks = 36,
}

impl HookKind {
    /// All of them.
    pub const ALL: [Self; 36] = [
        Self::Allocate,
        Self::AllocateArray,
        Self::AllocateZeroed,
        Self::AllocateArrayZeroed,
        Self::AllocateAligned,
        Self::AlignedAllocate,
        Self::AllocateAlignedZeroed,
        Self::AlignedAllocateZeroed,
        Self::PosixMemalign,
        Self::Mallocx,
        Self::Free,
        Self::Resize,
        Self::ResizeArray,
        Self::ResizeAligned,
        Self::Rallocx,
        Self::ResizeFrom,
        Self::Xallocx,
        Self::RpalignedRealloc,
        Self::PrepareResize,
        Self::Duplicate,
        Self::DestroyHeap,
        Self::Exit,
        Self::ThreadCreate,
        Self::ThreadJoin,
        Self::ThreadName,
        Self::Internal,
        Self::Execve,
        Self::Execveat,
        Self::Fexecve,
        Self::Prctl,
        Self::SystemCall,
        Self::LoaderChanged,
        Self::GoSystemCall,
        Self::GoSystemCallOnStack,
        Self::Nallocx,
        Self::VisitBlocks,
    ];

    /// Whether it hands out blocks or takes them back. The others say what happens beside.
    pub fn is_of_blocks(self) -> bool {
        (self as u8) < Self::Exit as u8
    }

    /// Whether it is not entered, but called by the recorder, which asks something.
    pub fn is_asked(self) -> bool {
        self as u8 >= Self::Nallocx as u8
    }

    /// The kind of a code; `None` for one that does not exist.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == code)
    }
}

/// Which arguments a function has beside those that its kind says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Arguments {
    /// None that make it more than three, unless its kind has more.
    #[default]
    Few = 0,
    /// Some behind them: up to six in all.
    Many = 1,
    /// A heap before them, and maybe some behind them: up to six in all.
    BehindHeap = 2,
}

impl Arguments {
    /// Those of a code; `None` for one that does not exist.
    pub fn from_code(code: u8) -> Option<Self> {
        [Self::Few, Self::Many, Self::BehindHeap].into_iter().find(|one| *one as u8 == code)
    }
}

/// Four bytes of moved code that say how far it is to somewhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fixup {
    /// Where they lie in the moved code.
    pub at: u8,
    /// Where their instruction ends, from which the distance counts.
    pub end: u8,
    /// Address that is meant.
    pub target: u64,
}

/// A function that is to be entered through the recorder. Addresses are those of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Where the jump goes: the function, or behind the mark for indirect branches with which it begins.
    pub address: u64,
    pub kind: HookKind,
    pub arguments: Arguments,
    /// Whether it is called as the C library's function is, in the executable: it may be an allocator's, or pass on to the C library.
    pub may_pass_on: bool,
    /// Whether its callers may know which registers it leaves as they are: a compiler that has both in one file makes use of that.
    pub keeps_registers: bool,
    /// Whether that holds for vector registers, too.
    pub keeps_vectors: bool,
    /// Whether the moved code ends with a call that returns into the function, and so has put the address there itself.
    pub puts_return: bool,
    /// Whose function it is.
    pub allocator: AllocatorNumber,
    /// How many bytes make way.
    pub displaced_len: u8,
    /// What they are in the file.
    pub displaced: [u8; MOST_DISPLACED],
    /// Bytes of the moved code.
    pub moved_len: u8,
    /// The moved code, with the jump back.
    pub moved: [u8; MOST_MOVED],
    /// How many places in it depend on where it lies.
    pub fixup_count: u8,
    pub fixups: [Fixup; MOST_FIXUPS],
}

impl Default for Hook {
    fn default() -> Self {
        Self {
            address: 0,
            kind: HookKind::default(),
            arguments: Arguments::default(),
            may_pass_on: false,
            keeps_registers: false,
            keeps_vectors: false,
            puts_return: false,
            allocator: AllocatorNumber::BY_NAME,
            displaced_len: 0,
            displaced: [0; MOST_DISPLACED],
            moved_len: 0,
            moved: [0; MOST_MOVED],
            fixup_count: 0,
            fixups: [Fixup::default(); MOST_FIXUPS],
        }
    }
}

/// Words of the moved code: it begins behind the address, the lengths, the displaced bytes and the places of the fixups.
const MOVED_WORD: usize = 6;
/// Words of the targets.
const TARGET_WORD: usize = MOVED_WORD + MOST_MOVED / 8;
const _: () = assert!(TARGET_WORD + MOST_FIXUPS == HOOK_WORDS);

impl Hook {
    /// Whether all its lengths are within bounds. What was read from shared memory may be anything.
    pub fn is_sound(&self) -> bool {
        let moved = usize::from(self.moved_len);
        let fixups = self.fixups.iter().take(usize::from(self.fixup_count));
        (JUMP_BYTES..=MOST_DISPLACED).contains(&usize::from(self.displaced_len))
            && moved <= MOST_MOVED
            && usize::from(self.fixup_count) <= MOST_FIXUPS
            && { fixups }.all(|fixup| usize::from(fixup.at) + 4 <= moved && usize::from(fixup.end) <= moved)
    }

    /// Its words.
    pub fn encode(&self) -> [u64; HOOK_WORDS] {
        let mut words = [0; HOOK_WORDS];
        words[0] = self.address;
        let flags = [self.may_pass_on, self.keeps_registers, self.keeps_vectors, self.puts_return];
        let flags = flags.iter().enumerate().fold(0, |all, (bit, flag)| all | u8::from(*flag) << bit);
        words[1] = u64::from_le_bytes([
            self.kind as u8,
            self.displaced_len,
            self.moved_len,
            self.fixup_count,
            flags,
            self.allocator.0,
            self.arguments as u8,
            0,
        ]);
        let mut displaced = [0; 24];
        displaced[..MOST_DISPLACED].copy_from_slice(&self.displaced);
        put(&mut words[2..5], &displaced);
        let mut places = [0; 8];
        for (place, fixup) in places.chunks_exact_mut(2).zip(&self.fixups) {
            place.copy_from_slice(&[fixup.at, fixup.end]);
        }
        words[5] = u64::from_le_bytes(places);
        put(&mut words[MOVED_WORD..TARGET_WORD], &self.moved);
        for (word, fixup) in words[TARGET_WORD..].iter_mut().zip(&self.fixups) {
            *word = fixup.target;
        }
        words
    }

    /// The hook of these words, if they are one.
    pub fn decode(words: &[u64; HOOK_WORDS]) -> Option<Self> {
        let [kind, displaced_len, moved_len, fixup_count, flags, allocator, arguments, _] =
            words[1].to_le_bytes();
        let mut hook = Self {
            address: words[0],
            kind: HookKind::from_code(kind)?,
            arguments: Arguments::from_code(arguments)?,
            may_pass_on: flags & 1 != 0,
            keeps_registers: flags & 2 != 0,
            keeps_vectors: flags & 4 != 0,
            puts_return: flags & 8 != 0,
            allocator: AllocatorNumber(allocator).min(AllocatorNumber::OTHERS),
            displaced_len,
            moved_len,
            fixup_count,
            ..Self::default()
        };
        let mut displaced = [0; 24];
        take(&words[2..5], &mut displaced);
        hook.displaced.copy_from_slice(&displaced[..MOST_DISPLACED]);
        take(&words[MOVED_WORD..TARGET_WORD], &mut hook.moved);
        let places = words[5].to_le_bytes();
        for (index, fixup) in hook.fixups.iter_mut().enumerate() {
            (fixup.at, fixup.end) = (places[2 * index], places[2 * index + 1]);
            fixup.target = words[TARGET_WORD + index];
        }
        hook.is_sound().then_some(hook)
    }
}

fn put(words: &mut [u64], bytes: &[u8]) {
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
}

fn take(words: &[u64], bytes: &mut [u8]) {
    for (word, bytes) in words.iter().zip(bytes.as_chunks_mut::<8>().0) {
        *bytes = word.to_le_bytes();
    }
}

/// A hook in the shared memory.
#[derive(Debug)]
#[repr(transparent)]
pub struct SharedHook(pub [AtomicU64; HOOK_WORDS]);

impl SharedHook {
    /// Writes one. It is read only after it was published.
    pub fn store(&self, hook: &Hook) {
        for (to, from) in self.0.iter().zip(hook.encode()) {
            to.store(from, Ordering::Relaxed);
        }
    }

    /// Reads one.
    pub fn load(&self) -> Option<Hook> {
        Hook::decode(&core::array::from_fn(|at| self.0[at].load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_the_same_hook() {
        let mut hook = Hook {
            address: 0x55d0_c0a0_1234,
            kind: HookKind::Rallocx,
            arguments: Arguments::BehindHeap,
            may_pass_on: true,
            keeps_registers: true,
            keeps_vectors: true,
            puts_return: true,
            allocator: AllocatorNumber(7),
            displaced_len: 7,
            ..Hook::default()
        };
        hook.displaced[..7].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7]);
        hook.moved_len = 12;
        hook.moved[..12].copy_from_slice(&[9; 12]);
        hook.fixup_count = 2;
        hook.fixups[0] = Fixup { at: 3, end: 7, target: 0x1000 };
        hook.fixups[1] = Fixup { at: 8, end: 12, target: u64::MAX };
        assert_eq!(Hook::decode(&hook.encode()), Some(hook));
    }

    #[test]
    fn words_of_no_meaning_are_no_hook() {
        let sound = Hook { displaced_len: 5, moved_len: 10, fixup_count: 1, ..Hook::default() };
        let odd = |change: fn(&mut Hook)| {
            let mut hook = sound;
            change(&mut hook);
            Hook::decode(&hook.encode())
        };
        assert_eq!(odd(|_| {}), Some(sound));
        assert_eq!(odd(|hook| hook.displaced_len = 4), None);
        assert_eq!(odd(|hook| hook.displaced_len = MOST_DISPLACED as u8 + 1), None);
        assert_eq!(odd(|hook| hook.moved_len = MOST_MOVED as u8 + 1), None);
        assert_eq!(odd(|hook| hook.fixup_count = MOST_FIXUPS as u8 + 1), None);
        assert_eq!(odd(|hook| hook.fixups[0].at = 7), None);
        assert_eq!(odd(|hook| hook.fixups[0].end = 11), None);
        assert_eq!(Hook::decode(&[0; HOOK_WORDS]), None);
    }
}
